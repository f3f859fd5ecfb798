// What the report's headers cannot see (R1, R2), constructed on purpose: the checker must find it,
// only where it exists, and the digest of `header-v2` must close it.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PropertyRunner } from '../../sim/property-run.ts'
import { check } from '../../sim/search/check.ts'
import { type DigestRow, digestRows, hashMask, packMask } from '../../spec/header.ts'
import { collidingMask } from '../../spec/mask-collisions.ts'
import { fieldScenario, ladder } from '../../spec/protocols/index.ts'
import type { FaultKind } from '../../spec/scenario.ts'

const properties = ['P2', 'P3', 'P4', 'P12'] as const

const scenarioOf = (variant: string, kind: FaultKind, requests: number, steps = 0) =>
  fieldScenario(variant, {
    pp: 2,
    window: 2,
    // Nothing else may go wrong: enough places, and no draft graph that waits for all of them.
    device: { residentCollectives: 3 },
    switches: { draftExecution: 'eager' },
    workload: { steps, choices: [{ requests }] },
    faults: [{ kind }],
    properties: [...properties],
  })

const brokenBy = (...args: Parameters<typeof scenarioOf>): string[] =>
  check(scenarioOf(...args)).counterexamples.map(({ property }) => property)

/** Rungs whose header carries the hash of the mask in full. */
const hashed = ladder.filter(({ switches }) => switches.header === 'int64').map(({ id }) => id)

const masks = fc.array(fc.boolean(), { minLength: 33, maxLength: 90 })

describe('R1: different masks with equal hashes', () => {
  test('for any mask of more than 32 rows there is one', () => {
    fc.assert(
      fc.property(masks, fc.nat({ max: 57 }), (mask, shift) => {
        const other = collidingMask(mask, Math.min(shift, mask.length - 33))
        expect(other).not.toEqual(mask)
        expect(other.length).toBe(mask.length)
        expect(hashMask(other)).toBe(hashMask(mask))
      }),
      { seed: 21, numRuns: 100 },
    )
  })

  test('masks of one length up to 32 rows never collide', () => {
    // CRC is linear: two masks collide if and only if their difference hashes like no difference.
    const pair = fc
      .integer({ min: 1, max: 32 })
      .chain((length) =>
        fc.tuple(
          ...[0, 1].map(() => fc.array(fc.boolean(), { minLength: length, maxLength: length })),
        ),
      )
    fc.assert(
      fc.property(pair, ([a, b]) => (hashMask(a) === hashMask(b)) === (String(a) === String(b))),
      { seed: 22, numRuns: 2_000 },
    )
  })

  test.each(hashed)('%s adopts wrong tokens at 33 rows, and never at 32', (id) => {
    expect(brokenBy(id, 'own-mask-collision', 33)).toContain('P3')
    expect(brokenBy(id, 'own-mask-collision', 32)).toEqual([])
    // An honest difference of masks is seen at once.
    expect(brokenBy(id, 'own-mask', 33)).toEqual([])
  })

  test('a property run finds it and says at which rows', () => {
    // What is sent in a step is adopted pp steps later: two steps are too few.
    const sizes = [1, 2, 3, 4].map((steps) => ({
      pp: 2,
      steps,
      scenario: scenarioOf('stabilized', 'own-mask-collision', 33, steps),
    }))
    const { failure } = new PropertyRunner(sizes, { runs: 500, seed: 1 }).run()
    expect(failure?.found.findings.map(({ property }) => property)).toContain('P3')
  })
})

describe('different lengths with equal packed bytes', () => {
  test('the hash sees nothing; the number of requests must travel too', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), (mask) => {
        if (mask.length % 8 === 0) return
        const longer = [...mask, false]
        expect([...packMask(longer)]).toEqual([...packMask(mask)])
        expect(hashMask(longer)).toBe(hashMask(mask))
      }),
      { seed: 23 },
    )
    expect(brokenBy('stabilized', 'own-num-reqs', 3)).toEqual([])
  })
})

describe('R2: equal masks over other rows', () => {
  test.each(hashed)('%s adopts the tokens of another request', (id) => {
    expect(brokenBy(id, 'own-rows', 2)).toContain('P3')
  })
})

describe('header-v2 closes both', () => {
  test.each([
    ['own-mask-collision', 33],
    ['own-mask-collision', 40],
    ['own-rows', 2],
    ['own-mask', 2],
    ['own-num-reqs', 2],
  ] as const)('%s with %i rows', (kind, requests) => {
    const verdict = check(scenarioOf('header-v2', kind, requests))
    expect(verdict.outcome).toBe('holds')
    expect(verdict.scope).toEqual({ kind: 'exhaustive', runLength: 'any' })
  })

  test('and keeps what the last rung holds', () => {
    expect(check(fieldScenario('header-v2')).outcome).toBe('holds')
  })
})

describe('the digest of rows', () => {
  const row = fc.record({
    request: fc.string({ minLength: 1, maxLength: 8 }),
    generation: fc.nat({ max: 5 }),
    sampled: fc.boolean(),
  })
  const rows = fc.array(row, { maxLength: 12 })

  test('fits an int64 and is equal only for equal rows', () => {
    const seen = new Map<bigint, string>()
    fc.assert(
      fc.property(rows, (list) => {
        const digest = digestRows(list)
        expect(digest >= 0n && digest < 2n ** 63n).toBe(true)
        const text = JSON.stringify(list)
        expect(seen.get(digest) ?? text).toBe(text)
        seen.set(digest, text)
      }),
      { seed: 24, numRuns: 3_000 },
    )
  })

  test('any one field of any one row changes it', () => {
    const changes: ((each: DigestRow) => DigestRow)[] = [
      (each) => ({ ...each, request: `${each.request}x` }),
      (each) => ({ ...each, generation: each.generation + 1 }),
      (each) => ({ ...each, sampled: !each.sampled }),
    ]
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 40 }), fc.nat(), (list, at) => {
        const index = at % list.length
        for (const change of changes) {
          const other = list.map((each, i) => (i === index ? change(each) : each))
          expect(digestRows(other)).not.toBe(digestRows(list))
        }
      }),
      { seed: 25 },
    )
  })
})
