// A schedule string is the run: what is encoded comes back, and nothing else is accepted.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeSchedule, encodeSchedule, scenarioHash } from '../../sim/schedule.ts'
import { Generator, mix } from '../../sim/search/random.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'

const scenario = fieldScenario('capped', { pp: 3 })

test('encoding and decoding are inverse', () => {
  const choices = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 900 })))
  const reduction = fc.constantFrom('stubborn' as const, 'none' as const)
  fc.assert(
    fc.property(choices, reduction, (list, kind) => {
      const schedule = { choices: list, reduction: kind }
      expect(decodeSchedule(scenario, encodeSchedule(scenario, schedule))).toEqual(schedule)
    }),
    { seed: 5, numRuns: 300 },
  )
})

describe('a string of anything else is refused', () => {
  const hash = scenarioHash(scenario)
  test.each([
    ['', 'PPC301'],
    ['hello', 'PPC301'],
    [`pp1:${hash}:s`, 'PPC301'],
    [`pp1:${hash}:x:0`, 'PPC301'],
    [`pp1:${hash}:s:0..1`, 'PPC301'],
    [`pp1:${hash}:s:-1`, 'PPC301'],
    [`pp1:${hash}:s:0*zzzzz`, 'PPC301'],
    [`pp2:${hash}:s:0`, 'PPC304'],
    ['pp1:00000000:s:0', 'PPC304'],
  ])('%s', (text, code) => {
    expect(() => decodeSchedule(scenario, text)).toThrow(expect.objectContaining({ code }))
  })
})

test('the hash names the behaviour: every part of a scenario changes it', () => {
  const others = [
    fieldScenario('capped', { pp: 4 }),
    fieldScenario('capped', { pp: 3, window: 2 }),
    fieldScenario('capped', { pp: 3, device: { residentCollectives: 1 } }),
    fieldScenario('capped', { pp: 3, switches: { draftExecution: 'eager' } }),
    fieldScenario('capped', { pp: 3, faults: [{ kind: 'stall' }] }),
    fieldScenario('capped', { pp: 3, workload: { steps: 4 } }),
  ]
  const hashes = new Set([scenario, ...others].map(scenarioHash))
  expect(hashes.size).toBe(others.length + 1)
})

test('chance is pinned: the same seed gives the same numbers in every version', () => {
  const generator = new Generator(1)
  const first = [generator.next(), generator.next(), generator.next()]
  expect(first).toEqual([0, 1, 2].map((counter) => mix(1, counter)))
  expect(first).toMatchInlineSnapshot(`
    [
      580771925,
      431307245,
      3808875243,
    ]
  `)
  const rolls = Array.from({ length: 6000 }, () => generator.below(6))
  for (let face = 0; face < 6; face++) {
    const share = rolls.filter((roll) => roll === face).length
    expect(share).toBeGreaterThan(850)
    expect(share).toBeLessThan(1150)
  }
})
