// What two posts at the same position of a channel must agree in, and what a header can and cannot
// see of a difference (page 1, wire facts). Nothing here knows about time or search.

import type { Batch } from '../spec/batch.ts'
import { maskHash } from '../spec/batch.ts'
import type { Broadcast, Dimension, TransferOperation } from '../spec/operation.ts'
import { describe } from '../spec/operation.ts'
import { resolvePeer } from '../spec/resolve-program.ts'
import type { Finding, Head } from './rank-model.ts'
import { differs } from './rank-model.ts'
import type { CompiledOperation } from './rank-program.ts'

/** What of a post is negotiated by nobody and must be equal on all ranks. */
export interface Signature {
  readonly kind: string
  readonly root: number
  readonly dtype: string
  readonly count: number
  readonly payload: string
  readonly isHeader: boolean
  /** How far the poster's sequence number lags because it is advanced after the enqueue. */
  readonly lag: number
}

export interface HeaderRules {
  /** Why a header cannot be written in its element type, if so. */
  readonly unrepresentable: (form: Broadcast, batch: Batch) => string | undefined
  /** Does the check of this header see a difference of these bits? */
  readonly fails: (op: number, operations: readonly CompiledOperation[], bits: number) => boolean
  /** Compares what was sent with what the receiver posted for it. */
  readonly compare: (sent: Head, mine: Head) => { bits: number; finding?: Finding }
}

/** Signatures are interned: equal ones have equal numbers. */
export interface MatchRules {
  readonly rules: HeaderRules
  readonly signatureOf: (rank: number, operation: TransferOperation, batch: number) => number
  readonly signature: (number: number) => Signature
}

/** Number of elements of a payload of a batch with R requests and K drafts. */
export const elementCount = (
  shape: readonly Dimension[],
  requests: number,
  drafts: number,
): number =>
  shape.reduce<number>(
    (product, dimension) =>
      product *
      (dimension === 'R'
        ? requests
        : dimension === 'K'
          ? drafts
          : dimension === 'K+1'
            ? drafts + 1
            : dimension),
    1,
  )

export function createMatchRules(
  batches: readonly Batch[],
  pp: number,
  drafts: number,
): MatchRules {
  const signatures: Signature[] = []
  const numbers = new Map<string, number>()
  const cache = new Map<TransferOperation, Int32Array>()

  const signatureOf = (rank: number, form: TransferOperation, batch: number): number => {
    let row = cache.get(form)
    if (row === undefined) {
      row = new Int32Array(batches.length * pp).fill(-1)
      cache.set(form, row)
    }
    const cell = batch * pp + rank
    if (row[cell] < 0) row[cell] = intern(rank, form, batch)
    return row[cell]
  }

  const intern = (rank: number, form: TransferOperation, batch: number): number => {
    const pair = form.do === 'send' || form.do === 'receive'
    const peer = pair ? resolvePeer(form.peer, rank, pp) : undefined
    const isHeader = form.do === 'broadcast' && form.header !== undefined
    const signature: Signature = {
      kind: pair ? 'p2p' : form.do,
      root:
        form.do === 'broadcast'
          ? (resolvePeer(form.root, rank, pp) ?? -1)
          : form.do === 'send'
            ? rank
            : form.do === 'receive'
              ? (peer ?? -1)
              : -1,
      dtype: form.dtype,
      count: elementCount(form.shape, batches[batch]?.requests ?? 0, drafts),
      payload: pair ? 'activation' : form.name,
      isHeader,
      lag: isHeader && form.header?.sequence === 'after-enqueue' ? 1 : 0,
    }
    const key = JSON.stringify(signature)
    const known = numbers.get(key)
    if (known !== undefined) return known
    signatures.push(signature)
    numbers.set(key, signatures.length - 1)
    return signatures.length - 1
  }

  const contentBits = (a: Batch, b: Batch): number => {
    let bits = 0
    if (a.requests !== b.requests) bits |= differs.requests | differs.rows
    if (String(a.mask) !== String(b.mask) || a.rows !== b.rows) bits |= differs.rows
    if (maskHash(a) !== maskHash(b)) bits |= differs.hash
    return bits
  }

  const compare = (sent: Head, mine: Head): { bits: number; finding?: Finding } => {
    const a = signatures[sent.signature]
    const b = signatures[mine.signature]
    for (const field of ['kind', 'root', 'dtype', 'count'] as const) {
      if (a[field] === b[field]) continue
      const text =
        `payload-mismatch: ${b.payload} expects ${field} ${b[field]}, ` +
        `what stands at this position is ${a.payload} with ${field} ${a[field]}`
      return { bits: 0, finding: { property: 'P2', text } }
    }
    let bits = 0
    if (sent.back !== mine.back) bits |= differs.step
    if (a.payload !== b.payload) bits |= differs.payload
    const [theirs, own] = [batches[sent.batch], batches[mine.batch]]
    if (a.isHeader && b.isHeader) {
      bits |= contentBits(theirs, own)
      if (sent.back + sent.skew + a.lag !== mine.back + mine.skew + b.lag) bits |= differs.seq
      return { bits }
    }
    if (bits !== 0) {
      const apart = mine.back - sent.back
      const text =
        bits & differs.payload
          ? `wrong-pairing: ${a.payload} of the sender meets ${b.payload} of the receiver`
          : `wrong-pairing: ${a.payload} meets its like of ${Math.abs(apart)} step(s) ` +
            `${apart > 0 ? 'later' : 'earlier'}`
      return { bits, finding: { property: 'P2', text } }
    }
    if (a.kind === 'broadcast') bits |= contentBits(theirs, own) & differs.rows
    return { bits }
  }

  return {
    rules: {
      compare,
      fails: (op, operations, bits) => {
        const form = operations[op]?.form
        if (form?.do !== 'broadcast' || form.header === undefined) return false
        return form.header.fields.some((field) =>
          field === 'seq'
            ? (bits & differs.seq) !== 0
            : field === 'mask_hash'
              ? (bits & differs.hash) !== 0
              : field === 'row_digest'
                ? (bits & differs.rows) !== 0
                : (bits & differs.requests) !== 0,
        )
      },
      unrepresentable: (form, batch) => {
        if (form.dtype !== 'int32' || !form.header?.fields.includes('mask_hash')) return undefined
        const hash = maskHash(batch)
        return hash <= 0x7fffffff
          ? undefined
          : `${describe(form)}: mask_hash ${hash} does not fit int32 (largest 2147483647)`
      },
    },
    signatureOf,
    signature: (number) => signatures[number],
  }
}
