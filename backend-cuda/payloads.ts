// What the live payloads hold: a real header, and words that every rank can compute for itself.
// So a receiver knows not only that a payload is wrong but whose it is instead.

import type { Batch } from '../spec/batch.ts'
import { maskHash } from '../spec/batch.ts'
import { decodeHeader, encodeHeader, type Header, headerMismatch } from '../spec/header.ts'
import type { Broadcast, Dtype, TransferOperation } from '../spec/operation.ts'
import { payloadKey, tokenWord } from './token-words.ts'

const bytesOf: Record<Dtype, number> = { int64: 8, int32: 4, bfloat16: 2 }

export interface PayloadSizes {
  /** Draft tokens a step, K. */
  readonly drafts: number
  /** Bytes of an activation: hidden states are as large as the model makes them. */
  readonly activationBytes: number
}

/** Bytes of a transfer for a batch; a multiple of 4, and at least 4. */
export function payloadBytes(form: TransferOperation, batch: Batch, sizes: PayloadSizes): number {
  if (form.dtype === 'bfloat16') return sizes.activationBytes
  const { requests } = batch
  const dimension = { R: requests, K: sizes.drafts, 'K+1': sizes.drafts + 1 }
  const elements = form.shape
    .map((each) => (typeof each === 'number' ? each : dimension[each]))
    .reduce((product, each) => product * each, 1)
  return Math.max(4, elements * bytesOf[form.dtype])
}

/** The header that a rank expects, or sends, for a step. */
export const headerOf = (step: number, batch: Batch): Header => ({
  seq: step + 1,
  maskHash: maskHash(batch),
  numReqs: batch.requests,
})

const formatOf = (form: Broadcast) => (form.dtype === 'int32' ? 'int32[2]' : 'int64[3]')

/** @throws PpcheckError PPC203 for a field that the dtype cannot carry (P11). */
export const encodedHeader = (form: Broadcast, header: Header): Uint8Array =>
  encodeHeader(header, formatOf(form))

/** The field in which a received header differs from the expected one, in words; or undefined. */
export function headerProblem(
  form: Broadcast,
  bytes: Uint8Array,
  expected: Header,
): string | undefined {
  const format = formatOf(form)
  const received = { numReqs: expected.numReqs, ...decodeHeader(bytes, format) }
  const field = headerMismatch(expected, received, format)
  if (field === undefined) return undefined
  return `header field ${field} is ${received[field]}, this rank expected ${expected[field]}`
}

const wordsIn = (bytes: Uint8Array): Uint32Array =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2)

/** The number of a payload among the transfers of a protocol: part of its key. */
export const payloadNumber = (name: string): number => {
  let number = 0
  for (const letter of name) number = (Math.imul(number, 31) + letter.charCodeAt(0)) >>> 0
  return number
}

/** Writes the words of a payload. */
export function writeTokens(bytes: Uint8Array, seed: number, step: number, name: string): void {
  const words = wordsIn(bytes)
  const key = payloadKey(seed, step, payloadNumber(name))
  for (let index = 0; index < words.length; index++) words[index] = tokenWord(key, index)
}

/**
 * What is wrong with a received payload, in words; undefined if it is the one of this step.
 * `names` are the payloads that it could be instead, `reach` how many steps away.
 */
export function tokenProblem(
  bytes: Uint8Array,
  expected: { readonly seed: number; readonly step: number; readonly name: string },
  names: readonly string[],
  reach: number,
): string | undefined {
  const words = wordsIn(bytes)
  const isOf = (step: number, name: string): boolean => {
    const key = payloadKey(expected.seed, step, payloadNumber(name))
    return words.every((word, index) => word === tokenWord(key, index))
  }
  if (isOf(expected.step, expected.name)) return undefined
  for (let step = Math.max(0, expected.step - reach); step <= expected.step + reach; step++) {
    const found = names.find((name) => isOf(step, name))
    if (found !== undefined) return `got ${found} of step ${step} for ${expected.name}`
  }
  return `got words that no rank sent for ${expected.name}`
}
