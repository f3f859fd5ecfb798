// What the scheduler's output says of one step, as far as the protocol can see it. A batch is the
// label that a step carries through the model; ranks may be handed different ones by a fault.

import { fail } from './error.ts'
import { crc32, packMask } from './header.ts'
import type { Fact } from './operation.ts'
import type { BatchInput } from './scenario.ts'

/** One step's batch as a rank sees it. */
export interface Batch {
  /** Number of rows, R. */
  readonly requests: number
  /** Per row: does it need a sampled token? Length R. */
  readonly mask: readonly boolean[]
  /** Did the speculator propose drafts in this step? */
  readonly proposal: boolean
  /** Drafts of the previous step that were rejected; the position correction of each row. */
  readonly rejected: number
  /** Which requests occupy the rows: equal masks over other rows are different batches. */
  readonly rows: string
  /** The scheduler announces with this step that rows of earlier steps were freed or reused. */
  readonly frees: boolean
  /** A step without tokens: `execute` only, no `sample`. */
  readonly empty: boolean
  /** A kernel or a module is used for the first time in this step. */
  readonly firstUse: boolean
}

/** A batch in which every row needs a token and drafts are proposed. */
export const fullBatch = (requests = 1): Batch => ({
  requests,
  mask: Array.from({ length: requests }, () => true),
  proposal: true,
  rejected: 0,
  rows: 'a',
  frees: false,
  empty: false,
  firstUse: false,
})

/** The same batch with no row that needs a token (a step of prefill chunks, for example). */
export const withEmptyMask = (batch: Batch): Batch => ({
  ...batch,
  mask: batch.mask.map(() => false),
})

/** Does the batch satisfy a guard? */
export const holds = (batch: Batch, facts: readonly Fact[]): boolean =>
  facts.every((fact) => {
    switch (fact) {
      case 'mask':
        return batch.mask.some(Boolean)
      case 'no-mask':
        return !batch.mask.some(Boolean)
      case 'proposal':
        return batch.proposal
      case 'no-proposal':
        return !batch.proposal
      case 'first-use':
        return batch.firstUse
      case 'not-first-use':
        return !batch.firstUse
      case 'tokens':
        return !batch.empty
      case 'no-tokens':
        return batch.empty
    }
  })

/** CRC-32 of the packed mask: the header's `mask_hash` (unsigned 32 bit). */
export const maskHash = (batch: Batch): number => crc32(packMask(batch.mask))

/** A canonical key: equal batches have equal keys. */
export const batchKey = (batch: Batch): string =>
  [
    batch.requests,
    batch.mask.map(Number).join(''),
    Number(batch.proposal),
    batch.rejected,
    batch.rows,
    Number(batch.frees),
    Number(batch.empty),
    Number(batch.firstUse),
  ].join('/')

/** The batch in a few words, for traces. */
export function describeBatch(batch: Batch): string {
  if (batch.empty) return 'empty step'
  const words = [`R=${batch.requests}`]
  const needed = batch.mask.filter(Boolean).length
  if (needed === 0) words.push('empty mask')
  else if (needed < batch.requests) words.push(`mask ${batch.mask.map(Number).join('')}`)
  if (!batch.proposal) words.push('no proposal')
  if (batch.rejected > 0) words.push(`${batch.rejected} rejected`)
  if (batch.frees) words.push('frees rows')
  if (batch.rows !== 'a') words.push(`rows ${batch.rows}`)
  if (batch.firstUse) words.push('first use')
  return words.join(', ')
}

/** A batch with its defaults: one request, full mask, a proposal, nothing rejected. */
export function batchFrom(input: BatchInput): Batch {
  const requests = Array.isArray(input.mask)
    ? (input.requests ?? input.mask.length)
    : (input.requests ?? 1)
  const base = fullBatch(requests)
  const mask = Array.isArray(input.mask) ? input.mask : base.mask.map(() => input.mask !== 'empty')
  if (mask.length !== requests) {
    fail('PPC202', `batch: mask has ${mask.length} rows, requests says ${requests}`)
  }
  return {
    ...base,
    mask,
    proposal: input.proposal ?? true,
    rejected: input.rejected ?? 0,
    rows: input.rows ?? 'a',
    frees: input.frees ?? false,
    empty: input.empty ?? false,
    firstUse: input.firstUse ?? false,
  }
}
