// A second opinion: the export unrolls a protocol by rules of its own, and SPIN explores what comes
// out. Both must see the same states and give the same verdicts. PPCHECK_SPIN_ALL=1 asks SPIN for
// every reference verdict of pp 2 instead of a sample.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toPromela } from '../../sim/export/promela.ts'
import { check } from '../../sim/search/check.ts'
import { fieldScenario, ladder } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'
import { type Reference, references, scenarioOf } from './reference.ts'

const missing = [
  { program: 'spin', argument: '-V' },
  { program: 'gcc', argument: '--version' },
].filter(({ program, argument }) => spawnSync(program, [argument]).error !== undefined)
const reason = missing.map(({ program }) => `no ${program} on PATH`).join(', ')

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-spin-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const execute = (program: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
  expect(status, `${program}: ${stdout}${stderr}`).toBe(0)
  return stdout
}

/** Builds a verifier; `run` gives what it found and how many states it stored. */
function spin(scenario: Scenario, ...flags: string[]) {
  writeFileSync(join(folder, 'model.pml'), toPromela(scenario))
  execute('spin', '-a', 'model.pml')
  execute('gcc', '-w', '-O0', '-DSAFETY', ...flags, '-o', 'pan', 'pan.c')
  return (...args: string[]) => {
    const text = execute('./pan', '-m100000', '-w20', ...args)
    expect(text).not.toMatch(/out of memory|max search depth too small/)
    const [, states] = /(\d+) states, stored/.exec(text) ?? []
    const found = /assertion violated/.test(text)
      ? 'payload-mismatch'
      : /pan:\d+: invalid end state/.test(text)
        ? 'deadlock'
        : 'ok'
    return { found, states: Number(states) }
  }
}

/** SPIN stops at what it meets first; where both can happen, the mismatch is the verdict. */
function verdictOf(scenario: Scenario, expected: string): string {
  const run = spin(scenario)
  const { found } = run()
  if (found !== 'deadlock' || expected !== 'payload-mismatch') return found
  return run('-E').found === 'ok' ? found : expected
}

const all = process.env['PPCHECK_SPIN_ALL'] === '1'
const lines = references.filter(({ pp }) => pp === 2)

/** Of every kind of transport, schedule, launch order and verdict a line; two where GPUs talk. */
function sample(): Reference[] {
  const kinds = new Map<string, Reference[]>()
  for (const line of lines) {
    const { transport, send, receive, drafts, launchOrder, verdict } = line
    const kind = [transport, send, receive, drafts, launchOrder, verdict].join()
    kinds.set(kind, [...(kinds.get(kind) ?? []), line])
  }
  return [...kinds.values()].flatMap((kind) => {
    const [first] = kind
    const other = kind[first.transport === 'nccl' ? kind.length >> 1 : 0]
    return [...new Set([first, other])]
  })
}

describe.skipIf(missing.length > 0)(`SPIN as an oracle${reason && ` (${reason})`}`, () => {
  const tiny: [string, Reference][] = lines
    .filter((_, index) => index % 73 === 0)
    .map((line) => ({ ...line, steps: 1 + (line.W % 2) }))
    .map((line) => [JSON.stringify(line), line])

  test.each(tiny)('the same states: %s', { timeout: 60_000 }, (_, line) => {
    const scenario = scenarioOf(line)
    const mine = check(scenario, { reduction: 'none', walks: 0, continue: true })
    expect(spin(scenario, '-DNOREDUCE')('-c0').states).toBe(mine.states)
  })

  const asked: [string, Reference][] = (all ? lines : sample()).map((line) => [
    JSON.stringify(line),
    line,
  ])
  test.each(asked)('the same verdict: %s', { timeout: 600_000 }, (_, line) => {
    expect(verdictOf(scenarioOf(line), line.verdict)).toBe(line.verdict)
  })

  test.each(ladder.map(({ id }) => id))('the ladder at pp 3: %s', { timeout: 60_000 }, (id) => {
    const script = [{}, { proposal: false }, {}]
    const scenario = fieldScenario(id, { pp: 3, workload: { steps: 3, script } })
    const broken = check(scenario, { continue: true }).counterexamples.map(
      ({ property }) => property,
    )
    const verdict = broken.includes('P2') ? 'payload-mismatch' : broken[0] ? 'deadlock' : 'ok'
    expect(verdictOf(scenario, verdict)).toBe(verdict)
  })
})
