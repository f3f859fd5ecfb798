// What all benchmarks share: medians, formatting, the page that is written. Figures are medians of
// several runs in one sitting, and ratios compare runs that were taken in turn.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** How often each thing is measured. */
export const runs = Number(process.env.PPCHECK_BENCH_RUNS ?? 5)

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** @returns the result and how long it took, in milliseconds. */
export const timed = (work) => {
  const start = performance.now()
  const result = work()
  return { result, ms: performance.now() - start }
}

/** Median time of a whole `ppcheck` process in milliseconds, start-up included. */
export const processMs = (args, exitCode) => {
  const times = []
  for (let run = 0; run < runs; run++) {
    const { result, ms } = timed(() =>
      spawnSync(process.execPath, ['dist/cli/main.js', ...args], { cwd: root, encoding: 'utf8' }),
    )
    if (result.status !== exitCode) {
      throw new Error(`ppcheck ${args.join(' ')} ended with ${result.status}: ${result.stderr}`)
    }
    times.push(ms)
  }
  return median(times)
}

export const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
export const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
export const thousands = (n) =>
  Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ' ')
export const ratio = (theirs, ours) => `${(theirs / ours).toFixed(1)}×`

/** Lines of Markdown that are shown as they come and kept for the page. */
export function createPage() {
  const lines = []
  const say = (line = '') => {
    lines.push(line)
    process.stdout.write(`${line}\n`)
  }
  const table = (head, rows) => {
    say(`| ${head.join(' | ')} |`)
    say(`| ${head.map(() => '---').join(' | ')} |`)
    for (const row of rows) say(`| ${row.join(' | ')} |`)
    say()
  }
  return { say, table, text: () => `${lines.join('\n').trimEnd()}\n` }
}

export const machine = () => {
  const [cpu] = cpus()
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0]
  return `${cpus().length} × ${cpu.model}, Node ${process.version}, load ${load} at the start`
}
