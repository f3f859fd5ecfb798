// The eight cases of the field report, and that the cap touches nothing else.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maxConcurrentBatches, type WindowSettings } from '../../spec/window.ts'

const report: WindowSettings = {
  pp: 8,
  asyncScheduling: true,
  runner: 'v2',
  capEnabled: true,
  method: 'dspark',
}

test.each<[string, Partial<WindowSettings>, number]>([
  ['capped: PP8, async, V2, dspark', {}, 8],
  ['PP1 async keeps 2, cap or not', { pp: 1 }, 2],
  ['another method keeps pp + 1', { method: 'eagle' }, 9],
  ['switched off keeps pp + 1', { capEnabled: false }, 9],
  ['V1 async is pp with the cap', { runner: 'v1' }, 8],
  ['V1 async is pp without the cap', { runner: 'v1', capEnabled: false }, 8],
  ['sync is pp', { asyncScheduling: false }, 8],
  ['sync with PP1 is 1', { asyncScheduling: false, pp: 1 }, 1],
])('%s', (_name, change, expected) => {
  expect(maxConcurrentBatches({ ...report, ...change })).toBe(expected)
})

test('the cap takes away at most the one extra batch, and only where it is meant to', () => {
  const settings = fc.record({
    pp: fc.integer({ min: 1, max: 64 }),
    asyncScheduling: fc.boolean(),
    runner: fc.constantFrom('v1' as const, 'v2' as const),
    capEnabled: fc.constant(true),
    method: fc.constantFrom('dspark', 'eagle', 'ngram'),
  })
  fc.assert(
    fc.property(settings, (each) => {
      const without = maxConcurrentBatches({ ...each, capEnabled: false })
      const saved = without - maxConcurrentBatches(each)
      const meant =
        each.pp > 1 && each.asyncScheduling && each.runner === 'v2' && each.method === 'dspark'
      expect(saved).toBe(meant ? 1 : 0)
    }),
  )
})

test.each([0, -1, 1.5, Number.NaN])('refuses pp = %s', (pp) => {
  expect(() => maxConcurrentBatches({ ...report, pp })).toThrow(`got ${pp}`)
})
