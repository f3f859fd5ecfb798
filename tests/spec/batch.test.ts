// What a rank sees of a step: guards read it, headers carry some of it, faults change it.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { numberBatches } from '../../sim/workload-batches.ts'
import {
  type Batch,
  batchFrom,
  batchKey,
  describeBatch,
  fullBatch,
  holds,
  maskHash,
  withEmptyMask,
} from '../../spec/batch.ts'
import type { Fact } from '../../spec/operation.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import { type FaultKind, faultKinds } from '../../spec/scenario.ts'

const batches: fc.Arbitrary<Batch> = fc.record({
  requests: fc.nat({ max: 9 }),
  mask: fc.array(fc.boolean(), { maxLength: 9 }),
  proposal: fc.boolean(),
  rejected: fc.nat({ max: 9 }),
  rows: fc.constantFrom('a', 'b', "a'"),
  frees: fc.boolean(),
  empty: fc.boolean(),
  firstUse: fc.boolean(),
})

describe('facts', () => {
  const opposites: readonly (readonly [Fact, Fact])[] = [
    ['mask', 'no-mask'],
    ['proposal', 'no-proposal'],
    ['first-use', 'not-first-use'],
    ['tokens', 'no-tokens'],
  ]

  test('of each pair exactly one holds in any batch, and all together never', () => {
    fc.assert(
      fc.property(batches, (batch) => {
        for (const [fact, opposite] of opposites) {
          expect(holds(batch, [fact])).toBe(!holds(batch, [opposite]))
          expect(holds(batch, [fact, opposite])).toBe(false)
        }
        expect(holds(batch, [])).toBe(true)
      }),
      { seed: 31 },
    )
  })

  test.each([
    [{}, ['mask', 'proposal', 'not-first-use', 'tokens']],
    [{ mask: 'empty' }, ['no-mask', 'proposal', 'not-first-use', 'tokens']],
    [{ mask: [false, true] }, ['mask', 'proposal', 'not-first-use', 'tokens']],
    [{ requests: 0 }, ['no-mask', 'proposal', 'not-first-use', 'tokens']],
    [{ proposal: false, firstUse: true }, ['mask', 'no-proposal', 'first-use', 'tokens']],
    [{ empty: true }, ['mask', 'proposal', 'not-first-use', 'no-tokens']],
  ] as const)('%j', (input, facts) => {
    const batch = batchFrom(input as Parameters<typeof batchFrom>[0])
    const known = opposites.flat().filter((fact) => holds(batch, [fact]))
    expect(known).toEqual(facts)
  })
})

test('batches are numbered by all that they say: equal keys, equal batches', () => {
  fc.assert(
    fc.property(batches, batches, (a, b) => {
      const [one, other] = [a, b].map((batch) => ({ ...batch, requests: batch.mask.length }))
      expect(batchKey(one) === batchKey(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
    }),
    { seed: 32, numRuns: 300 },
  )
})

test('a batch is told in the words of the field', () => {
  expect(describeBatch(fullBatch(2))).toBe('R=2')
  expect(describeBatch(withEmptyMask(fullBatch(2)))).toBe('R=2, empty mask')
  expect(describeBatch(batchFrom({ mask: [true, false], rejected: 3, frees: true }))).toBe(
    'R=2, mask 10, 3 rejected, frees rows',
  )
  expect(describeBatch(batchFrom({ empty: true }))).toBe('empty step')
})

describe('a fault that hands a rank another batch', () => {
  const changed = (kind: FaultKind) => {
    const scenario = fieldScenario('fixed-four-header64', {
      pp: 2,
      faults: [{ kind }],
      workload: { choices: [{ mask: [true, false] }] },
    })
    const { batches: all, choices, faulty } = numberBatches(scenario)
    const number = faulty(scenario.faults[0], choices[0])
    return { right: all[choices[0]], wrong: all[number] as Batch | undefined }
  }

  test('own-mask: the header sees it', () => {
    const { right, wrong } = changed('own-mask')
    expect(wrong?.requests).toBe(2)
    expect(maskHash(wrong as Batch)).not.toBe(maskHash(right))
  })

  test('own-num-reqs: the packed mask is the same, so only num_reqs tells them apart', () => {
    const { right, wrong } = changed('own-num-reqs')
    expect(wrong?.requests).toBe(3)
    expect(maskHash(wrong as Batch)).toBe(maskHash(right))
  })

  test('own-rows: nothing in a header tells them apart', () => {
    const { right, wrong } = changed('own-rows')
    expect({ ...wrong, rows: right.rows }).toEqual(right)
    expect(wrong?.rows).not.toBe(right.rows)
  })

  test('request-reused: rows of earlier steps change their owner', () => {
    expect(changed('request-reused').wrong?.frees).toBe(true)
  })

  test('the others hand out no batch', () => {
    // `own-batch` is told what to hand out: lookalike-batches.test.ts.
    const handing = ['own-mask', 'own-num-reqs', 'own-rows', 'request-reused', 'own-batch']
    for (const kind of faultKinds) {
      if (!handing.includes(kind)) expect(changed(kind).wrong).toBeUndefined()
    }
  })
})
