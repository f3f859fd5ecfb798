// A search that was interrupted, as bytes: everything that is needed to go on exactly where it
// stopped. Local states are numbered in the order in which they were met, so their keys are part of
// it. A checkpoint names its scenario, its version and its options; a foreign one is refused.

import { fail } from '../../spec/error.ts'
import type { PropertyId } from '../../spec/properties.ts'
import type { Finding } from '../rank-model.ts'
import { fnv1a } from '../schedule.ts'

/** Grows when the meaning of a number or of a key changes. */
export const checkpointVersion = 1

/** Where a search stands. */
export interface SearchPosition {
  /** The next state to be expanded. */
  readonly number: number
  readonly depth: number
  readonly levelEnd: number
  readonly fired: number
  readonly walks: number
  readonly found: readonly (readonly [
    PropertyId,
    { readonly findings: readonly Finding[]; readonly choices: readonly number[] },
  ])[]
}

export interface Checkpoint {
  /** What the search depends on: scenario, reduction and options that change its course. */
  readonly identity: string
  readonly position: SearchPosition
  /** Keys of the engine's states and of each rank's local states, in the order of their numbers. */
  readonly engineKeys: readonly string[]
  readonly rankKeys: readonly (readonly string[])[]
  readonly count: number
  /** Words of all states and their parents, little endian. */
  readonly words: Uint8Array
  readonly wide: boolean
  readonly parents: Uint8Array
}

const magic = 'ppcheck-checkpoint'

/** The checkpoint as one byte array: a line of JSON with lengths and checksum, then the data. */
export function encodeCheckpoint(checkpoint: Checkpoint): Uint8Array {
  const { words, parents, rankKeys, ...head } = checkpoint
  const keys = packKeys(rankKeys)
  const checksum = fnv1a([words, parents, keys].map(checksumOf).join())
  const line = JSON.stringify({
    format: magic,
    version: checkpointVersion,
    ...head,
    keyCounts: rankKeys.map((list) => list.length),
    bytes: { keys: keys.length, words: words.length, parents: parents.length },
    checksum,
  })
  const first = asciiBytes(`${line}\n`)
  const all = new Uint8Array(first.length + keys.length + words.length + parents.length)
  all.set(first, 0)
  all.set(keys, first.length)
  all.set(words, first.length + keys.length)
  all.set(parents, first.length + keys.length + words.length)
  return all
}

/**
 * Reads a checkpoint back.
 * @throws PpcheckError PPC303 if it does not parse or is cut off, PPC304 if it belongs to another
 *   scenario, other options or another version.
 */
export function decodeCheckpoint(bytes: Uint8Array, identity: string): Checkpoint {
  const end = bytes.indexOf(10)
  if (end < 0 || end > 64_000_000) fail('PPC303', 'not a checkpoint: it has no header line')
  const head = parseHead(bytes.subarray(0, end))
  if (head['version'] !== checkpointVersion) {
    fail('PPC304', `the checkpoint has version ${head['version']}, not ${checkpointVersion}`)
  }
  if (head['identity'] !== identity) {
    fail(
      'PPC304',
      'the checkpoint belongs to another scenario or other search options',
      'give the options that the interrupted run was started with',
    )
  }
  const sizes = head['bytes'] as { keys: number; words: number; parents: number }
  const start = end + 1
  if (bytes.length !== start + sizes.keys + sizes.words + sizes.parents) {
    fail('PPC303', 'the checkpoint is cut off')
  }
  const keys = bytes.slice(start, start + sizes.keys)
  const words = bytes.slice(start + sizes.keys, start + sizes.keys + sizes.words)
  const parents = bytes.slice(start + sizes.keys + sizes.words)
  if (fnv1a([words, parents, keys].map(checksumOf).join()) !== head['checksum']) {
    fail('PPC303', 'the checkpoint is damaged: its checksum does not fit')
  }
  return {
    identity,
    position: head['position'] as SearchPosition,
    engineKeys: head['engineKeys'] as string[],
    rankKeys: unpackKeys(keys, head['keyCounts'] as number[]),
    count: head['count'] as number,
    wide: head['wide'] as boolean,
    words,
    parents,
  }
}

function parseHead(bytes: Uint8Array): Record<string, unknown> {
  try {
    const head: unknown = JSON.parse(fromAscii(bytes))
    if (head !== null && typeof head === 'object' && 'format' in head && head.format === magic) {
      return head as Record<string, unknown>
    }
  } catch {
    // Falls through: whatever it is, it is no checkpoint.
  }
  return fail('PPC303', 'not a checkpoint: its header line is not one of ppcheck')
}

/** Keys are strings of 16-bit units: each with its length before it. */
function packKeys(lists: readonly (readonly string[])[]): Uint8Array {
  let units = 0
  for (const list of lists) for (const key of list) units += 1 + key.length
  const packed = new Uint8Array(2 * units)
  let at = 0
  const put = (unit: number): void => {
    packed[at++] = unit & 0xff
    packed[at++] = unit >>> 8
  }
  for (const list of lists) {
    for (const key of list) {
      put(key.length)
      for (let i = 0; i < key.length; i++) put(key.charCodeAt(i))
    }
  }
  return packed
}

function unpackKeys(packed: Uint8Array, counts: readonly number[]): string[][] {
  let at = 0
  const take = (): number => {
    const unit = packed[at] | (packed[at + 1] << 8)
    at += 2
    return unit
  }
  return counts.map((count) =>
    Array.from({ length: count }, () => {
      const length = take()
      return String.fromCharCode(...Array.from({ length }, take))
    }),
  )
}

function checksumOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193)
  return hash >>> 0
}

// The header line holds ASCII only, except for names that a user chose: those are escaped by JSON.
const asciiBytes = (text: string): Uint8Array => {
  const ascii = text.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Uint8Array.from(ascii, (unit) => unit.charCodeAt(0))
}

const fromAscii = (bytes: Uint8Array): string => {
  let text = ''
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192))
  }
  return text
}
