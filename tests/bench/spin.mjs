// SPIN on the exported Promela model of a scenario.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toPromela } from '../../dist/sim/export/promela.js'
import { timed } from './measure.mjs'

export const spinIsMissing = spawnSync('spin', ['-V']).error !== undefined

/**
 * Builds and runs a verifier.
 * @param defines for the C compiler: `-DNOREDUCE` switches its partial-order reduction off.
 * @param limits `memoryMiB`, and `timeoutMs` for the search.
 * @returns times in milliseconds, states, peak memory in bytes and the outcome; `unfinished` when
 *   a limit ended the search.
 */
export function spin(scenario, defines, { memoryMiB, timeoutMs }) {
  const folder = mkdtempSync(join(tmpdir(), 'ppcheck-bench-'))
  const execute = (program, args, options = {}) =>
    timed(() => spawnSync(program, args, { cwd: folder, encoding: 'utf8', ...options }))
  const must = (step) => {
    if (step.result.status === 0) return step
    throw new Error(`${step.result.stderr}${step.result.stdout}`)
  }
  try {
    writeFileSync(join(folder, 'model.pml'), toPromela(scenario))
    const translate = must(execute('spin', ['-a', 'model.pml']))
    const flags = ['-w', '-O2', '-DSAFETY', `-DMEMLIM=${memoryMiB}`, ...defines]
    const compile = must(execute('gcc', [...flags, '-o', 'pan', 'pan.c']))
    const options = { timeout: timeoutMs, killSignal: 'SIGINT' }
    const search = execute('./pan', ['-m10000000', '-w24'], options)
    const text = search.result.stdout
    const figure = (pattern) => Number(pattern.exec(text)?.[1] ?? Number.NaN)
    const errors = figure(/errors: (\d+)/)
    const isCut = /Interrupted|reached -DMEMLIM|out of memory|max search depth/.test(text)
    return {
      buildMs: translate.ms + compile.ms,
      searchMs: search.ms,
      states: figure(/([\d.e+]+) states, stored/),
      peakBytes: figure(/([\d.]+)\s+total actual memory usage/) * 2 ** 20,
      outcome: errors > 0 ? 'violated' : isCut || Number.isNaN(errors) ? 'unfinished' : 'holds',
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
