// Arbitraries of batch pairs that a header may take for one another (page 1, wire facts): what the
// engine hands out, and what one rank believes instead. Random masks practically never collide, so
// the pairs are constructed.

import fc from 'fast-check'
import { collisionBasis, flipped } from '../spec/mask-collisions.ts'
import type { BatchInput } from '../spec/scenario.ts'

/** Two batches that differ although some fields of their headers are equal. */
export interface Lookalikes {
  readonly right: BatchInput
  readonly wrong: BatchInput
}

const maskOf = (length: number): fc.Arbitrary<boolean[]> =>
  fc.array(fc.boolean(), { minLength: length, maxLength: length })

/**
 * R1: different masks of one length (33..rowsMax) with equal CRC-32. Every such pair can be drawn;
 * shrinks to few rows, a mask of few tokens and one flip of the basis.
 */
export const crcTwins = (rowsMax = 96): fc.Arbitrary<Lookalikes> =>
  fc.integer({ min: 33, max: rowsMax }).chain((rows) => {
    const basis = collisionBasis(rows)
    return fc
      .tuple(maskOf(rows), fc.subarray(basis, { minLength: 1 }))
      .map(([mask, sets]) => ({ right: { mask }, wrong: { mask: flipped(mask, sets) } }))
  })

/** Masks of different lengths with equal packed bytes: the last byte is filled with zeros too. */
export const paddedTwins = (rowsMax = 40): fc.Arbitrary<Lookalikes> =>
  fc
    .integer({ min: 1, max: rowsMax })
    .filter((rows) => rows % 8 !== 0)
    .chain((rows) =>
      fc.tuple(maskOf(rows), fc.integer({ min: 1, max: 8 - (rows % 8) })).map(([mask, more]) => ({
        right: { mask },
        wrong: { mask: [...mask, ...Array.from({ length: more }, () => false)] },
      })),
    )

/** R2: the same mask over other requests; of any length. */
export const otherRows = (rowsMax = 40): fc.Arbitrary<Lookalikes> =>
  fc
    .integer({ min: 1, max: rowsMax })
    .chain(maskOf)
    .map((mask) => ({ right: { mask }, wrong: { mask, rows: 'b' } }))
