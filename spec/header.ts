// The bytes of the token broadcasts: mask packing and its CRC-32, the header codecs, the sentinels
// and the payload shapes (field report, "Wire facts"). Must never depend on the host's byte order,
// and never accept a value that its element type cannot carry: silently wrapping would hide P11.

import { fail } from './error.ts'

/** Element types that travel. */
export type HeaderDtype = 'int64' | 'int32'

/** Bytes an element. */
export const dtypeBytes = { int64: 8, int32: 4 } as const satisfies Record<HeaderDtype, number>

// ---------------------------------------------------------------------------------------- mask

/**
 * Packs a sampled-needed mask as the engine does (numpy's `packbits`): 8 rows a byte, the first row
 * in the most significant bit, the last byte filled up with zeros.
 * Shape: bool[R] -> uint8[ceil(R / 8)]; R = 0 gives no bytes.
 */
export const packMask = (mask: readonly boolean[]): Uint8Array => {
  const bytes = new Uint8Array(Math.ceil(mask.length / 8))
  for (let row = 0; row < mask.length; row++) {
    if (mask[row]) bytes[row >> 3] |= 0x80 >> (row & 7)
  }
  return bytes
}

/**
 * The reverse of packMask. The packed bytes do not say how many rows there are (all-false masks of
 * 1 to 8 rows pack to the same byte), so the number of requests must be given.
 * Throws PPC204 if the byte count does not belong to `numReqs` or the filling is not zero.
 */
export const unpackMask = (bytes: Uint8Array, numReqs: number): boolean[] => {
  if (!Number.isInteger(numReqs) || numReqs < 0 || bytes.length !== Math.ceil(numReqs / 8)) {
    fail('PPC204', `${bytes.length} mask bytes do not hold ${numReqs} requests`)
  }
  const bit = (row: number): boolean => (bytes[row >> 3] & (0x80 >> (row & 7))) !== 0
  for (let row = numReqs; row < bytes.length * 8; row++) {
    if (bit(row)) fail('PPC204', `mask bytes set row ${row}, but there are ${numReqs} requests`)
  }
  return Array.from({ length: numReqs }, (_, row) => bit(row))
}

// -------------------------------------------------------------------------------------- CRC-32

/**
 * The generator polynomial of zlib's CRC-32, reflected. Written out here and not taken from
 * node:zlib, because spec/ has no I/O module and older 20.x releases lack the function.
 */
const polynomial = 0xedb88320

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) {
    remainder = remainder & 1 ? (remainder >>> 1) ^ polynomial : remainder >>> 1
  }
  return remainder
})

/** CRC-32 with the zlib polynomial, as an unsigned number below 2^32. */
export const crc32 = (bytes: Uint8Array): number => {
  let remainder = 0xffffffff
  for (const byte of bytes) remainder = crcTable[(remainder ^ byte) & 0xff] ^ (remainder >>> 8)
  return (remainder ^ 0xffffffff) >>> 0
}

/** The `mask_hash` of a header: unsigned, so half of all masks exceed what int32 can carry. */
export const hashMask = (mask: readonly boolean[]): number => crc32(packMask(mask))

// -------------------------------------------------------------------------------- row digest

/** What a digest says of one row. */
export interface DigestRow {
  readonly request: string
  /** How often the request has been admitted; a preempted one comes back as another. */
  readonly generation: number
  /** Does the row need a sampled token? */
  readonly sampled: boolean
}

const fnvOffset = 0xcbf29ce484222325n
const fnvPrime = 0x100000001b3n
const wordMask = 0xffff_ffff_ffff_ffffn

/**
 * A digest of rows in 63 bits, so that it fits an int64 without a sign (FNV-1a over the UTF-16
 * units of the rows' fields, the id after its length, and a last mixing step). Two different lists
 * of rows have equal digests with a probability of about 2^-63: what remains of R1 and R2 in the
 * variant `header-v2`. It is no signature: who chooses request ids on purpose can make a collision.
 */
export const digestRows = (rows: readonly DigestRow[]): bigint => {
  const text = rows
    .map(
      ({ request, generation, sampled }) =>
        `${request.length}:${request}${generation}:${Number(sampled)}`,
    )
    .join('')
  let digest = fnvOffset
  for (let at = 0; at < text.length; at++) {
    digest = ((digest ^ BigInt(text.charCodeAt(at))) * fnvPrime) & wordMask
  }
  digest ^= digest >> 32n
  digest = (digest * 0xd6e8feb86659fd93n) & wordMask
  return (digest ^ (digest >> 32n)) & 0x7fff_ffff_ffff_ffffn
}

// -------------------------------------------------------------------------------------- header

/** What the last rank says of a step before its tokens. */
export interface Header {
  /** Advanced before the header is enqueued, on both sides at the same protocol point. */
  readonly seq: number
  /** CRC-32 of the packed mask, unsigned. */
  readonly maskHash: number
  /** Packed masks of different lengths can be equal, so the length travels too. */
  readonly numReqs: number
}

export type HeaderField = keyof Header

/**
 * The two layouts of history. `int32[2]` is the first one (rung `fixed-four`); it raised on about
 * half of all distinct masks and could not see a divergence of `numReqs`. `int64[3]` is the mended
 * one (rung `fixed-four-header64`).
 */
export const headerFormats = {
  'int64[3]': { dtype: 'int64', fields: ['seq', 'maskHash', 'numReqs'] },
  'int32[2]': { dtype: 'int32', fields: ['seq', 'maskHash'] },
} as const satisfies Record<string, { dtype: HeaderDtype; fields: readonly HeaderField[] }>

export type HeaderFormat = keyof typeof headerFormats

/**
 * P11: does the value fit the element type, as a signed integer? Beyond 2^53 - 1 a JavaScript
 * number is no longer exact, so int64 ends there: a sequence number never comes near it.
 */
export const representable = (value: number, dtype: HeaderDtype): boolean =>
  Number.isSafeInteger(value) && (dtype === 'int64' || value === (value | 0))

/** P11 for a whole header: the fields that the format carries but its element type cannot. */
export const unrepresentableFields = (header: Header, format: HeaderFormat): HeaderField[] => {
  const { dtype, fields } = headerFormats[format]
  return fields.filter((field) => !representable(header[field], dtype))
}

/**
 * Header -> little-endian bytes: int64[3] gives uint8[24], int32[2] gives uint8[8].
 * Throws PPC203 for a field that does not fit; it never wraps.
 */
export const encodeHeader = (header: Header, format: HeaderFormat = 'int64[3]'): Uint8Array => {
  const { dtype, fields } = headerFormats[format]
  const bytes = new Uint8Array(fields.length * dtypeBytes[dtype])
  const view = new DataView(bytes.buffer)
  fields.forEach((field, index) => {
    const value = header[field]
    if (!representable(value, dtype)) fail('PPC203', `header ${field} ${value} is no ${dtype}`)
    if (dtype === 'int64') view.setBigInt64(index * 8, BigInt(value), true)
    else view.setInt32(index * 4, value, true)
  })
  return bytes
}

/**
 * Little-endian bytes -> the fields that the format carries; `int32[2]` has no `numReqs`.
 * Throws PPC204 if the length is wrong, PPC203 if an int64 is not exact as a number.
 */
export const decodeHeader = (
  bytes: Uint8Array,
  format: HeaderFormat = 'int64[3]',
): Omit<Header, 'numReqs'> & { readonly numReqs?: number } => {
  const { dtype, fields } = headerFormats[format]
  const size = fields.length * dtypeBytes[dtype]
  if (bytes.length !== size) {
    fail('PPC204', `a header ${format} has ${size} bytes, got ${bytes.length}`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const read = (index: number): number => {
    if (dtype === 'int32') return view.getInt32(index * 4, true)
    const value = view.getBigInt64(index * 8, true)
    if (BigInt(Number(value)) !== value || !Number.isSafeInteger(Number(value))) {
      fail('PPC203', `header ${fields[index]} ${value} is not exact as a number`)
    }
    return Number(value)
  }
  const header = { seq: read(0), maskHash: read(1) }
  return dtype === 'int64' ? { ...header, numReqs: read(2) } : header
}

/**
 * The receiver's check (P4): the first field in which the received header differs from the rank's
 * own expectation, or undefined. It compares only what the format carries, which is why `int32[2]`
 * lets a divergence of `numReqs` pass.
 */
export const headerMismatch = (
  own: Header,
  received: Header,
  format: HeaderFormat = 'int64[3]',
): HeaderField | undefined =>
  headerFormats[format].fields.find((field) => own[field] !== received[field])

// ------------------------------------------------------------------------------------ payloads

/** What a fixed schedule posts when there is nothing to say: no token is -1, no count is 0. */
export const sentinels = { sampled: -1, drafts: -1, counts: 0 } as const

/** The four broadcasts of a step, in the order in which they are posted. */
export const tokenPayloads = ['header', 'sampled', 'counts', 'drafts'] as const

export type TokenPayload = (typeof tokenPayloads)[number]

/** The shape of one payload on the wire. */
export interface PayloadShape {
  readonly dtype: HeaderDtype
  readonly shape: readonly number[]
  readonly elementCount: number
  readonly byteSize: number
}

/**
 * Shapes of the four payloads of a step with R requests and K drafts a step: header int64[3],
 * sampled int64[R, K+1], counts int32[2, R] (row 0 sampled, row 1 rejected), drafts int64[R, K].
 * Throws PPC204 unless R and K are integers of at least 0.
 */
export const payloadShapes = (batch: {
  readonly requests: number
  readonly draftsPerStep: number
  readonly header?: HeaderFormat
}): Record<TokenPayload, PayloadShape> => {
  const { requests, draftsPerStep, header = 'int64[3]' } = batch
  for (const [name, value] of Object.entries({ requests, draftsPerStep })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      fail('PPC204', `${name} must be an integer ≥ 0, got ${value}`)
    }
  }
  const { dtype, fields } = headerFormats[header]
  return {
    header: payloadShape(dtype, [fields.length]),
    sampled: payloadShape('int64', [requests, draftsPerStep + 1]),
    counts: payloadShape('int32', [2, requests]),
    drafts: payloadShape('int64', [requests, draftsPerStep]),
  }
}

const payloadShape = (dtype: HeaderDtype, shape: readonly number[]): PayloadShape => {
  const elementCount = shape.reduce((product, size) => product * size, 1)
  return { dtype, shape, elementCount, byteSize: elementCount * dtypeBytes[dtype] }
}
