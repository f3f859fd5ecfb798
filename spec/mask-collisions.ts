// Which masks a header cannot tell apart by their CRC-32: the residual hazard R1 `crc-collision`.
// CRC is linear over GF(2): flipping a set of rows changes it by the XOR of what each row
// contributes, whatever the mask was. So the masks of one length that collide are found by linear
// algebra, and where there are none, that is a proof and not a search.

import { assert, fail } from './error.ts'
import { hashMask } from './header.ts'

/** Rows that can be flipped together, in any mask of that length, without changing its hash. */
export type Flips = readonly number[]

/**
 * A basis of all flips that keep the hash of masks of `length` rows: two masks collide exactly if
 * they differ by a XOR of some of these. Up to 32 rows it is empty, so that no two masks collide;
 * above, it has length - 32 members.
 */
export const collisionBasis = (length: number): Flips[] => dependentRows(length, 0, length)

/**
 * Another mask of the same length with the same hash, differing only in rows `firstRow` to
 * `firstRow + 32`: 33 contributions of 32 bits are never independent. No header check sees it.
 * Throws PPC204 if the 33 rows do not fit: masks of 32 rows or fewer cannot collide.
 */
export const collidingMask = (mask: readonly boolean[], firstRow = 0): boolean[] => {
  if (!Number.isInteger(firstRow) || firstRow < 0 || firstRow + 33 > mask.length) {
    fail('PPC204', `33 rows from row ${firstRow} on do not fit a mask of ${mask.length} rows`)
  }
  const [flips] = dependentRows(mask.length, firstRow, firstRow + 33)
  assert(flips !== undefined, '33 vectors of 32 bits are dependent')
  return flipped(mask, [flips])
}

/** The mask with these sets of rows flipped, one after the other. */
export const flipped = (mask: readonly boolean[], sets: readonly Flips[]): boolean[] => {
  const result = [...mask]
  for (const rows of sets) for (const row of rows) result[row] = !result[row]
  return result
}

/** Sets of rows from `first` to before `end` whose contributions cancel: Gaussian elimination. */
function dependentRows(length: number, first: number, end: number): Flips[] {
  const empty = Array.from({ length }, () => false)
  const base = hashMask(empty)
  const pivots = new Map<number, { vector: number; rows: Set<number> }>()
  const found: Flips[] = []
  for (let row = first; row < end; row++) {
    let vector = hashMask(empty.map((_, each) => each === row)) ^ base
    const rows = new Set([row])
    while (vector !== 0) {
      const pivot = pivots.get(Math.clz32(vector))
      if (pivot === undefined) break
      vector ^= pivot.vector
      for (const each of pivot.rows) if (!rows.delete(each)) rows.add(each)
    }
    if (vector === 0) found.push([...rows].sort((a, b) => a - b))
    else pivots.set(Math.clz32(vector), { vector, rows })
  }
  return found
}
