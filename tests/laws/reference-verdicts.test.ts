// The contract: all 582 verdicts of the design's throw-away model come out of the semantics, and
// every refutation among them is a run of the XState machines themselves.

import { describe, expect, test } from 'vitest'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { type Reference, references, scenarioOf } from './reference.ts'

const judge = (reference: Reference): string => {
  const { outcome, counterexamples } = check(scenarioOf(reference))
  const broken = counterexamples.map(({ property }) => property)
  if (broken.includes('P2')) return 'payload-mismatch'
  if (broken.includes('P1') || broken.includes('P10')) return 'deadlock'
  return outcome === 'holds' ? 'ok' : `${outcome} ${broken.join()}`
}

test('the file is the whole file', () => {
  expect(references).toHaveLength(582)
})

describe.each([2, 3])('pp %i', (pp) => {
  const lines = references.filter((reference) => reference.pp === pp)

  test('every verdict is the one of the file', { timeout: 60_000 }, () => {
    const wrong = lines
      .map((line) => ({ line, verdict: judge(line) }))
      .filter(({ line, verdict }) => line.verdict !== verdict)
      .map(({ line, verdict }) => `${JSON.stringify(line)} -> ${verdict}`)
    expect(lines).toHaveLength(291)
    expect(wrong).toEqual([])
  })

  test('every counterexample is a run of XState that ends the same way', {
    timeout: 60_000,
  }, () => {
    let replayed = 0
    for (const line of lines) {
      const scenario = scenarioOf(line)
      for (const { schedule, property, findings } of check(scenario).counterexamples) {
        const trace = replay(scenario, decodeSchedule(scenario, schedule))
        expect(trace.findings, JSON.stringify(line)).toEqual(findings)
        expect(trace.findings.map((finding) => finding.property)).toContain(property)
        replayed++
      }
    }
    expect(replayed).toBe(lines.filter(({ verdict }) => verdict !== 'ok').length)
  })
})
