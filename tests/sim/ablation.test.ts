// The lattice of fixes: its combinatorics for any outcomes, and the field report's own for real.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  byLevel,
  defineAblation,
  harmful,
  idsOf,
  minimalSufficient,
  type SubsetOutcome,
} from '../../sim/ablation.ts'
import { check } from '../../sim/search/check.ts'
import { reportFixes, scenarioWithFixes } from '../../spec/protocols/fixes.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'

const outcome = fc.constantFrom<SubsetOutcome>('holds', 'violated', 'inconclusive')
const lattices = fc
  .integer({ min: 1, max: 5 })
  .chain((count) =>
    fc.tuple(
      fc.constant(count),
      fc.array(outcome, { minLength: 1 << count, maxLength: 1 << count }),
    ),
  )
const within = (small: number, large: number): boolean => (small & large) === small

describe('for any outcomes', () => {
  test('minimal sets hold, none contains another, and every set that holds contains one', () => {
    fc.assert(
      fc.property(lattices, ([, outcomes]) => {
        const minimal = minimalSufficient(outcomes)
        for (const a of minimal) {
          expect(outcomes[a]).toBe('holds')
          for (const b of minimal) if (a !== b) expect(within(a, b)).toBe(false)
        }
        outcomes.forEach((each, subset) => {
          if (each === 'holds') expect(minimal.some((small) => within(small, subset))).toBe(true)
        })
      }),
      { seed: 41 },
    )
  })

  test('a fix is harmful exactly where it turns a set that holds into one that does not', () => {
    fc.assert(
      fc.property(lattices, ([count, outcomes]) => {
        for (const { subset, fix } of harmful(outcomes, count)) {
          expect(outcomes[subset]).toBe('holds')
          expect(outcomes[subset | (1 << fix)]).toBe('violated')
        }
        const isMonotone = outcomes.every((each, small) =>
          outcomes.every(
            (other, large) => !within(small, large) || each !== 'holds' || other === 'holds',
          ),
        )
        if (isMonotone) expect(harmful(outcomes, count)).toEqual([])
      }),
      { seed: 42 },
    )
  })

  test('the levels hold every subset once', () => {
    for (const count of [1, 3, 6]) {
      const levels = byLevel(count)
      expect(levels.flat().sort((a, b) => a - b)).toEqual(
        Array.from({ length: 1 << count }, (_, subset) => subset),
      )
    }
  })
})

describe("the report's fixes", () => {
  const outcomeOf = (...fixes: string[]) =>
    check(scenarioWithFixes(new Set(fixes), { pp: 4 })).outcome

  test('all of them together are the last rung', () => {
    const fixes = new Set(['fixed-schedule', 'header64', 'cap', 'gloo-tokens', 'eager-draft'])
    const { protocol, topology, device } = scenarioWithFixes(fixes)
    const rung = fieldScenario('stabilized')
    expect(protocol.roles).toEqual(rung.protocol.roles)
    expect({ topology, device }).toEqual({ topology: rung.topology, device: rung.device })
  })

  test('the cap is not needed; an eager draft or a launch order is', () => {
    const base = ['fixed-schedule', 'header64']
    expect(outcomeOf(...base)).toBe('violated')
    expect(outcomeOf(...base, 'cap', 'gloo-tokens')).toBe('violated')
    expect(outcomeOf(...base, 'eager-draft')).toBe('holds')
    expect(outcomeOf(...base, 'launch-order')).toBe('holds')
    expect(outcomeOf('launch-order')).toBe('violated')
  })

  test('fixes are not monotone: tokens on the CPU escape from the launch order', () => {
    expect(outcomeOf('fixed-schedule', 'header64', 'launch-order', 'gloo-tokens')).toBe('violated')
  })

  test('every fix has a name and says what it does', () => {
    expect(new Set(reportFixes.map(({ id }) => id)).size).toBe(reportFixes.length)
  })
})

describe('a definition of one own', () => {
  const scenario = () => fieldScenario('gated', { pp: 2 })
  const fixes = [{ id: 'a', summary: '' }]

  test('names its subsets', () => {
    const two = [...fixes, { id: 'b', summary: '' }]
    const ablation = defineAblation({ name: 'x', fixes: two, scenario })
    expect([0, 1, 2, 3].map((subset) => idsOf(ablation, subset))).toEqual([
      [],
      ['a'],
      ['b'],
      ['a', 'b'],
    ])
  })

  test.each([
    ['nothing', undefined],
    ['no function', { name: 'x', fixes, scenario: 1 }],
    ['no fixes', { name: 'x', fixes: [], scenario }],
    ['the same fix twice', { name: 'x', fixes: [...fixes, ...fixes], scenario }],
    [
      'too many',
      { name: 'x', fixes: Array.from({ length: 9 }, (_, i) => ({ id: `${i}` })), scenario },
    ],
  ])('%s', (_, ablation) => {
    expect(() => defineAblation(ablation as never)).toThrow(
      expect.objectContaining({ code: 'PPC111' }),
    )
  })
})
