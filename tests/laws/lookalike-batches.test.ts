// Pairs of batches that a header takes for one another are drawn (any masks, any lengths) and
// handed to the ranks: rungs 2 to 5 adopt tokens of other rows, and `header-v2` raises before that
// every time.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { crcTwins, type Lookalikes, otherRows, paddedTwins } from '../../sim/lookalike-batches.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { batchFrom, maskHash } from '../../spec/batch.ts'
import { packMask } from '../../spec/header.ts'
import type { PropertyId } from '../../spec/properties.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'

const rungs = ['fixed-four-header64', 'capped', 'gloo-deferred', 'stabilized']

/** In step 0, rank 0 is handed the wrong batch. Nothing else may go wrong: enough places. */
const diverged = (id: string, { right, wrong }: Lookalikes, properties?: PropertyId[]): Scenario =>
  fieldScenario(id, {
    pp: 2,
    device: { residentCollectives: 4 },
    switches: { draftExecution: 'eager' },
    workload: { steps: 3, script: [right], choices: [{ requests: batchFrom(right).requests }] },
    faults: [{ kind: 'own-batch', rank: 0, step: 0, batch: wrong }],
    ...(properties === undefined ? {} : { properties }),
  })

const outcome = (scenario: Scenario): string => check(scenario).outcome

const batchesOf = ({ right, wrong }: Lookalikes) => [batchFrom(right), batchFrom(wrong)] as const

/** Two masks of one length up to 32 rows that differ in one row. */
const honestTwins = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 32 })
  .chain((mask) => fc.tuple(fc.constant(mask), fc.nat({ max: mask.length - 1 })))
  .map(([mask, at]): Lookalikes => {
    return { right: { mask }, wrong: { mask: mask.map((bit, row) => bit !== (row === at)) } }
  })

describe('the pairs are what they are said to be', () => {
  test('crcTwins: other masks of one length above 32 rows, equal hashes', () => {
    fc.assert(
      fc.property(crcTwins(), (pair) => {
        const [right, wrong] = batchesOf(pair)
        expect(right.mask).not.toEqual(wrong.mask)
        expect(right.requests).toBe(wrong.requests)
        expect(right.requests).toBeGreaterThan(32)
        expect(maskHash(right)).toBe(maskHash(wrong))
      }),
      { seed: 1 },
    )
  })

  test('paddedTwins: other lengths, equal bytes', () => {
    fc.assert(
      fc.property(paddedTwins(), (pair) => {
        const [right, wrong] = batchesOf(pair)
        expect(right.requests).toBeLessThan(wrong.requests)
        expect(packMask(right.mask)).toEqual(packMask(wrong.mask))
      }),
      { seed: 1 },
    )
  })

  test('otherRows: equal masks over other requests', () => {
    fc.assert(
      fc.property(otherRows(), (pair) => {
        const [right, wrong] = batchesOf(pair)
        expect(right.mask).toEqual(wrong.mask)
        expect(right.rows).not.toBe(wrong.rows)
      }),
      { seed: 1 },
    )
  })
})

describe.each(rungs)('the header of %s', (id) => {
  test.each([
    ['R1', crcTwins(64)],
    ['R2', otherRows()],
  ])('does not see %s: tokens of other rows are adopted (P3)', (_hazard, pairs) => {
    fc.assert(
      fc.property(pairs, (pair) => outcome(diverged(id, pair, ['P3'])) === 'violated'),
      { numRuns: 15, seed: 4 },
    )
  })

  test('sees other lengths with equal bytes, and other masks up to 32 rows', () => {
    const pairs = fc.oneof(paddedTwins(), honestTwins)
    fc.assert(
      fc.property(pairs, (pair) => outcome(diverged(id, pair)) === 'holds'),
      { numRuns: 15, seed: 4 },
    )
  })
})

test('the first header, without the number of requests, lets other shapes be posted (P2)', () => {
  fc.assert(
    fc.property(paddedTwins(), (pair) => {
      expect(check(diverged('fixed-four', pair, ['P2'])).outcome).toBe('violated')
    }),
    { numRuns: 15, seed: 4 },
  )
})

test('header-v2 sees every pair before anything is adopted: all properties hold', () => {
  const pairs = fc.oneof(crcTwins(64), paddedTwins(), otherRows(), honestTwins)
  fc.assert(
    fc.property(pairs, (pair) => outcome(diverged('header-v2', pair)) === 'holds'),
    { numRuns: 40, seed: 4 },
  )
})

test.each([
  ['own-mask-collision', 'R1', 'crc-collision'],
  ['own-rows', 'R2', 'same-mask-other-rows'],
] as const)('%s is told as %s, with the header that closes it', (kind, id, name) => {
  const scenario = fieldScenario('stabilized', {
    pp: 2,
    workload: { choices: [{ requests: 33 }] },
    faults: [{ kind }],
    properties: ['P3'],
  })
  const [{ schedule }] = check(scenario).counterexamples
  const { hazard } = explain(replay(scenario, decodeSchedule(scenario, schedule)))
  expect(hazard).toMatchObject({ id, name })
  expect(hazard?.fix).toContain('header-v2')
})

test('own-batch says which batch, and no other fault does', () => {
  const withFault = (fault: object) => () =>
    fieldScenario('stabilized', { faults: [fault as { kind: 'own-batch' }] })
  expect(withFault({ kind: 'own-batch' })).toThrow('own-batch, and no other fault')
  expect(withFault({ kind: 'own-rows', batch: {} })).toThrow('own-batch, and no other fault')
})
