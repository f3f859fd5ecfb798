// Laws of the header codec: what is written is what is read, nothing wraps, and the hash is zlib's.

import { crc32 as zlibCrc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  crc32,
  decodeHeader,
  encodeHeader,
  type Header,
  type HeaderFormat,
  hashMask,
  headerMismatch,
  packMask,
  payloadShapes,
  representable,
  sentinels,
  unpackMask,
  unrepresentableFields,
} from '../../spec/header.ts'
import { collidingMask, collisionBasis, flipped } from '../../spec/mask-collisions.ts'

const mask = (constraints: { minLength?: number; maxLength?: number } = {}) =>
  fc.array(fc.boolean(), { maxLength: 96, ...constraints })
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })

describe('mask packing', () => {
  test('puts the first row in the most significant bit and fills up with zeros', () => {
    expect([...packMask([true])]).toEqual([0b1000_0000])
    expect([...packMask([false, true, true])]).toEqual([0b0110_0000])
    const nine = [true, false, false, false, false, false, false, true, true]
    expect([...packMask(nine)]).toEqual([0b1000_0001, 0b1000_0000])
    expect([...packMask([])]).toEqual([])
  })

  test('unpacking with the number of requests gives the mask back', () => {
    fc.assert(
      fc.property(mask(), (rows) => {
        expect(unpackMask(packMask(rows), rows.length)).toEqual(rows)
      }),
    )
  })

  test('the bytes alone do not tell the number of requests', () => {
    const hashes = [1, 2, 3, 4, 5, 6, 7, 8].map((rows) => hashMask(Array(rows).fill(false)))
    expect(new Set(hashes).size).toBe(1)
  })

  test('unpacking refuses a wrong length and a filling that is not zero', () => {
    expect(() => unpackMask(Uint8Array.of(0, 0), 8)).toThrow('2 mask bytes do not hold 8 requests')
    expect(() => unpackMask(Uint8Array.of(1), 7)).toThrow('mask bytes set row 7')
  })
})

describe('CRC-32', () => {
  test('known vectors', () => {
    const text = (characters: string) => new TextEncoder().encode(characters)
    expect(crc32(text('123456789'))).toBe(0xcbf43926)
    expect(crc32(text(''))).toBe(0)
    expect(crc32(text('a'))).toBe(0xe8b7be43)
    expect(crc32(Uint8Array.of(0))).toBe(0xd202ef8d)
    expect(crc32(Uint8Array.of(0xff, 0xff, 0xff, 0xff))).toBe(0xffffffff)
  })

  test("is zlib's", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(crc32(bytes)).toBe(zlibCrc32(bytes))
      }),
    )
  })

  test('is linear: crc(a ^ b ^ c) = crc(a) ^ crc(b) ^ crc(c) for equal lengths', () => {
    const triple = fc
      .nat({ max: 16 })
      .chain((length) =>
        fc.tuple(...[1, 2, 3].map(() => fc.uint8Array({ minLength: length, maxLength: length }))),
      )
    fc.assert(
      fc.property(triple, ([a, b, c]) => {
        const sum = a.map((byte, index) => byte ^ b[index] ^ c[index])
        expect(crc32(sum)).toBe((crc32(a) ^ crc32(b) ^ crc32(c)) >>> 0)
      }),
    )
  })

  test('no two masks of one length up to 32 rows collide; above, 2^(rows - 32) do', () => {
    // Linear algebra, not luck: the flips that keep a hash are a vector space of this size.
    for (let rows = 0; rows <= 96; rows++) {
      expect(collisionBasis(rows)).toHaveLength(Math.max(0, rows - 32))
    }
    // Masks of 8 rows are few enough to look at all.
    const hashes = Array.from({ length: 256 }, (_, bits) =>
      hashMask(Array.from({ length: 8 }, (_, row) => (bits & (1 << row)) !== 0)),
    )
    expect(new Set(hashes).size).toBe(256)
  })

  test('whatever of the basis is flipped, the hash stays; one row more, and it does not', () => {
    fc.assert(
      fc.property(mask({ minLength: 33 }), fc.infiniteStream(fc.boolean()), (rows, chosen) => {
        const sets = collisionBasis(rows.length).filter(() => chosen.next().value)
        const other = flipped(rows, sets)
        expect(hashMask(other)).toBe(hashMask(rows))
        expect(hashMask(flipped(other, [[0]]))).not.toBe(hashMask(rows))
      }),
    )
  })

  test('every mask of more than 32 rows has another one with the same hash', () => {
    fc.assert(
      fc.property(mask({ minLength: 33 }), fc.nat(), (rows, seed) => {
        const firstRow = seed % (rows.length - 32)
        const other = collidingMask(rows, firstRow)
        expect(other).not.toEqual(rows)
        expect(other).toHaveLength(rows.length)
        expect(hashMask(other)).toBe(hashMask(rows))
        expect(other.slice(0, firstRow)).toEqual(rows.slice(0, firstRow))
        expect(other.slice(firstRow + 33)).toEqual(rows.slice(firstRow + 33))
      }),
    )
    expect(() => collidingMask(Array(32).fill(true))).toThrow('do not fit')
  })
})

describe('header', () => {
  const header64 = fc.record({
    seq: fc.maxSafeInteger(),
    maskHash: fc.nat({ max: 2 ** 32 - 1 }),
    numReqs: fc.nat(),
  })

  test('int64[3] round trip', () => {
    fc.assert(
      fc.property(header64, (header) => {
        expect(decodeHeader(encodeHeader(header))).toEqual(header)
      }),
    )
  })

  test('int32[2] round trip, without the number of requests', () => {
    fc.assert(
      fc.property(int32, int32, (seq, maskHash) => {
        const bytes = encodeHeader({ seq, maskHash, numReqs: 7 }, 'int32[2]')
        expect(decodeHeader(bytes, 'int32[2]')).toEqual({ seq, maskHash })
      }),
    )
  })

  test('is little endian on every host', () => {
    const header: Header = { seq: 1, maskHash: 0xcbf43926, numReqs: 258 }
    expect([...encodeHeader(header)]).toEqual([
      ...[1, 0, 0, 0, 0, 0, 0, 0],
      ...[0x26, 0x39, 0xf4, 0xcb, 0, 0, 0, 0],
      ...[2, 1, 0, 0, 0, 0, 0, 0],
    ])
    expect([...encodeHeader({ ...header, maskHash: -2 }, 'int32[2]')]).toEqual([
      ...[1, 0, 0, 0],
      ...[0xfe, 0xff, 0xff, 0xff],
    ])
  })

  test('decodes from the middle of a larger buffer', () => {
    const header: Header = { seq: 3, maskHash: 4, numReqs: 5 }
    const large = new Uint8Array(40)
    large.set(encodeHeader(header), 9)
    expect(decodeHeader(large.subarray(9, 33))).toEqual(header)
  })

  test('P11: int32 carries a mask hash exactly if it is below 2^31, and never wraps', () => {
    fc.assert(
      fc.property(mask({ minLength: 1 }), (rows) => {
        const header = { seq: 0, maskHash: hashMask(rows), numReqs: rows.length }
        const fits = header.maskHash < 2 ** 31
        expect(unrepresentableFields(header, 'int32[2]')).toEqual(fits ? [] : ['maskHash'])
        expect(unrepresentableFields(header, 'int64[3]')).toEqual([])
        if (!fits) expect(() => encodeHeader(header, 'int32[2]')).toThrow('is no int32')
      }),
    )
  })

  test('P11: about half of the masks of 12 rows do not fit int32', () => {
    const masks = Array.from({ length: 2 ** 12 }, (_, bits) =>
      Array.from({ length: 12 }, (_, row) => ((bits >> row) & 1) === 1),
    )
    const refused = masks.filter((rows) => hashMask(rows) >= 2 ** 31).length
    expect(refused).toBe(2 ** 11)
  })

  test('edges of what is representable', () => {
    expect(representable(2 ** 31 - 1, 'int32')).toBe(true)
    expect(representable(2 ** 31, 'int32')).toBe(false)
    expect(representable(-(2 ** 31), 'int32')).toBe(true)
    expect(representable(-(2 ** 31) - 1, 'int32')).toBe(false)
    expect(representable(0.5, 'int64')).toBe(false)
    expect(representable(Number.NaN, 'int32')).toBe(false)
    expect(representable(2 ** 53, 'int64')).toBe(false)
  })

  test('decoding refuses a wrong length and a value that a number cannot hold', () => {
    expect(() => decodeHeader(new Uint8Array(8))).toThrow('has 24 bytes, got 8')
    const bytes = encodeHeader({ seq: 0, maskHash: 0, numReqs: 0 })
    bytes[7] = 0x7f
    expect(() => decodeHeader(bytes)).toThrow('is not exact as a number')
  })

  test('the check names the first field that differs, of those that travel', () => {
    const own: Header = { seq: 4, maskHash: 9, numReqs: 2 }
    const cases: [Partial<Header>, HeaderFormat, string | undefined][] = [
      [{}, 'int64[3]', undefined],
      [{ seq: 5, numReqs: 3 }, 'int64[3]', 'seq'],
      [{ maskHash: 8 }, 'int64[3]', 'maskHash'],
      [{ numReqs: 3 }, 'int64[3]', 'numReqs'],
      [{ numReqs: 3 }, 'int32[2]', undefined],
    ]
    for (const [change, format, field] of cases) {
      expect(headerMismatch(own, { ...own, ...change }, format)).toBe(field)
    }
  })
})

describe('payloads', () => {
  test('the shapes of the field report: one request, five drafts', () => {
    const shapes = payloadShapes({ requests: 1, draftsPerStep: 5 })
    expect(shapes.header).toEqual({ dtype: 'int64', shape: [3], elementCount: 3, byteSize: 24 })
    expect(shapes.sampled.shape).toEqual([1, 6])
    expect(shapes.counts).toEqual({ dtype: 'int32', shape: [2, 1], elementCount: 2, byteSize: 8 })
    expect(shapes.drafts.shape).toEqual([1, 5])
  })

  test('element counts and sizes follow from R and K', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1024 }), fc.nat({ max: 64 }), (requests, draftsPerStep) => {
        const { sampled, counts, drafts } = payloadShapes({ requests, draftsPerStep })
        expect(sampled.elementCount).toBe(requests * (draftsPerStep + 1))
        expect(drafts.elementCount).toBe(requests * draftsPerStep)
        expect(counts.elementCount).toBe(2 * requests)
        expect(sampled.byteSize - drafts.byteSize).toBe(8 * requests)
        expect(counts.byteSize).toBe(8 * requests)
      }),
    )
  })

  test('the older header is smaller', () => {
    const { header } = payloadShapes({ requests: 1, draftsPerStep: 5, header: 'int32[2]' })
    expect(header).toEqual({ dtype: 'int32', shape: [2], elementCount: 2, byteSize: 8 })
  })

  test('refuses what is no count, and keeps the sentinels of the report', () => {
    expect(() => payloadShapes({ requests: -1, draftsPerStep: 5 })).toThrow('requests must be')
    expect(() => payloadShapes({ requests: 1, draftsPerStep: 0.5 })).toThrow(
      'draftsPerStep must be',
    )
    expect(sentinels).toEqual({ sampled: -1, drafts: -1, counts: 0 })
  })
})
