// Reads the pickles that torch::jit::Pickler writes: values only, from an allow-list of opcodes.
// It must never do what a pickle says: GLOBAL, REDUCE and everything else that could name or call
// code is refused with its offset. npm's pickleparser was tried and accepts those silently.

import { fail } from '../../spec/error.ts'

export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly PickleValue[]
  | PickleDict

/** A dict as the flat list key, value, key, value: a third of the memory of a Map each. */
export class PickleDict {
  readonly items: PickleValue[] = []

  /** The value of a string key; the last one wins, as in Python. */
  get(key: string): PickleValue | undefined {
    const { items } = this
    for (let at = items.length - 2; at >= 0; at -= 2) if (items[at] === key) return items[at + 1]
    return undefined
  }
}

export interface Pickle {
  readonly value: PickleValue
  /** Where the bytes ended too early; then `value` holds what had been complete until there. */
  readonly truncatedAt: number | undefined
}

// Every value takes a byte at least, so a small file cannot ask for much; these bound a big one.
const containersMax = 3_000_000
const valuesMax = 60_000_000
const marksMax = 256

class Truncated {}

/**
 * Reads one pickle of protocol 2 to 4.
 * @throws PpcheckError PPC501 for an opcode or a value that is not allowed, with its byte offset.
 */
export function readPickle(bytes: Uint8Array): Pickle {
  const reader = new Reader(bytes)
  try {
    return { value: reader.run(), truncatedAt: undefined }
  } catch (error) {
    if (!(error instanceof Truncated)) throw error
    return { value: reader.salvage(), truncatedAt: bytes.length }
  }
}

class Reader {
  private readonly bytes: Uint8Array
  private readonly view: DataView
  private at = 0
  private stack: PickleValue[] = []
  private readonly marks: number[] = []
  private readonly memo = new Map<number, PickleValue>()
  private containers = 0
  private values = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  run(): PickleValue {
    for (;;) {
      const offset = this.at
      const opcode = this.bytes[this.take(1)]
      if (opcode === 0x2e) return this.pop(offset)
      this.one(opcode, offset)
    }
  }

  /** Closes what is open, innermost first, and gives the outermost value. */
  salvage(): PickleValue {
    while (this.marks.length > 0) {
      const from = this.marks.pop() as number
      const items = this.stack.splice(from)
      const target = this.stack.at(-1)
      if (Array.isArray(target)) target.push(...items)
      else if (target instanceof PickleDict) {
        const pairs = items.length - (items.length % 2)
        for (let i = 0; i < pairs; i++) target.items.push(items[i])
      }
    }
    return this.stack[0] ?? null
  }

  private one(opcode: number, offset: number): void {
    const { view } = this
    switch (opcode) {
      case 0x80: // PROTO
        if (this.bytes[this.take(1)] > 5) this.refuse('a protocol above 5', offset)
        return
      case 0x95: // FRAME
        this.take(8)
        return
      case 0x7d: // EMPTY_DICT
        this.push(this.container(new PickleDict(), offset), offset)
        return
      case 0x5d: // EMPTY_LIST
      case 0x29: // EMPTY_TUPLE
        this.push(this.container([], offset), offset)
        return
      case 0x28: // MARK
        if (this.marks.length >= marksMax) this.refuse(`nesting deeper than ${marksMax}`, offset)
        this.marks.push(this.stack.length)
        return
      case 0x75: // SETITEMS
        this.setItems(this.popMark(offset), offset)
        return
      case 0x73: // SETITEM
        this.setItems(this.popMany(2, offset), offset)
        return
      case 0x65: // APPENDS
        this.append(this.popMark(offset), offset)
        return
      case 0x61: // APPEND
        this.append(this.popMany(1, offset), offset)
        return
      case 0x74: // TUPLE
        this.push(this.container(this.popMark(offset), offset), offset)
        return
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        this.push(this.container(this.popMany(opcode - 0x84, offset), offset), offset)
        return
      case 0x58: // BINUNICODE
        this.push(this.text(view.getUint32(this.take(4), true)), offset)
        return
      case 0x8c: // SHORT_BINUNICODE
        this.push(this.text(this.bytes[this.take(1)]), offset)
        return
      case 0x4a: // BININT
        this.push(view.getInt32(this.take(4), true), offset)
        return
      case 0x4b: // BININT1
        this.push(this.bytes[this.take(1)], offset)
        return
      case 0x4d: // BININT2
        this.push(view.getUint16(this.take(2), true), offset)
        return
      case 0x8a: // LONG1
        this.push(this.long(this.bytes[this.take(1)], offset), offset)
        return
      case 0x47: // BINFLOAT
        this.push(view.getFloat64(this.take(8), false), offset)
        return
      case 0x4e: // NONE
        this.push(null, offset)
        return
      case 0x88: // NEWTRUE
      case 0x89: // NEWFALSE
        this.push(opcode === 0x88, offset)
        return
      case 0x71: // BINPUT
        this.remember(this.bytes[this.take(1)], offset)
        return
      case 0x72: // LONG_BINPUT
        this.remember(view.getUint32(this.take(4), true), offset)
        return
      case 0x94: // MEMOIZE
        this.remember(this.memo.size, offset)
        return
      case 0x68: // BINGET
        this.recall(this.bytes[this.take(1)], offset)
        return
      case 0x6a: // LONG_BINGET
        this.recall(view.getUint32(this.take(4), true), offset)
        return
      default:
        this.refuse(`opcode 0x${opcode.toString(16).padStart(2, '0')}`, offset)
    }
  }

  /** Moves over `count` bytes and gives where they began. */
  private take(count: number): number {
    const from = this.at
    if (from + count > this.bytes.length) throw new Truncated()
    this.at = from + count
    return from
  }

  private push(value: PickleValue, offset: number): void {
    if (++this.values > valuesMax) this.refuse(`more than ${valuesMax} values`, offset)
    this.stack.push(value)
  }

  private container<T extends PickleValue>(value: T, offset: number): T {
    if (++this.containers > containersMax) {
      this.refuse(`more than ${containersMax} lists and dicts`, offset)
    }
    return value
  }

  private pop(offset: number): PickleValue {
    return this.popMany(1, offset)[0]
  }

  private popMany(count: number, offset: number): PickleValue[] {
    const from = this.stack.length - count
    if (from < (this.marks.at(-1) ?? 0)) this.refuse('a pop from an empty stack', offset)
    return this.stack.splice(from)
  }

  private popMark(offset: number): PickleValue[] {
    const from = this.marks.pop()
    if (from === undefined) this.refuse('an end without a mark', offset)
    return this.stack.splice(from)
  }

  private setItems(items: readonly PickleValue[], offset: number): void {
    const target = this.stack.at(-1)
    if (!(target instanceof PickleDict) || items.length % 2 !== 0) {
      this.refuse('items of something that is no dict', offset)
    }
    for (const item of items) target.items.push(item)
  }

  private append(items: readonly PickleValue[], offset: number): void {
    const target = this.stack.at(-1)
    if (!Array.isArray(target)) this.refuse('elements of something that is no list', offset)
    for (const item of items) target.push(item)
  }

  private remember(index: number, offset: number): void {
    const value = this.stack.at(-1)
    if (value === undefined) this.refuse('a memo of nothing', offset)
    this.memo.set(index, value)
  }

  private recall(index: number, offset: number): void {
    const value = this.memo.get(index)
    if (value === undefined) this.refuse(`memo ${index}, which was never set`, offset)
    this.push(value, offset)
  }

  /** Two's complement, little endian; a number where that is exact. */
  private long(length: number, offset: number): number | bigint {
    if (length > 16) this.refuse(`an integer of ${length} bytes`, offset)
    const from = this.take(length)
    let value = 0n
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.bytes[from + i])
    const signed = length === 0 ? 0n : BigInt.asIntN(8 * length, value)
    const small = Number(signed)
    return Number.isSafeInteger(small) ? small : signed
  }

  private text(length: number): string {
    const from = this.take(length)
    return decodeUtf8(this.bytes.subarray(from, from + length))
  }

  private refuse(what: string, offset: number): never {
    fail('PPC501', `the pickle has ${what} at byte ${offset}, which no flight recorder writes`)
  }
}

/** UTF-8 to text; bytes that are none become U+FFFD. Written out: sim/ has no platform globals. */
export function decodeUtf8(bytes: Uint8Array): string {
  const parts: string[] = []
  const units: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at]
    const more = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : -1
    let point = more === 0 ? lead : lead & (0x3f >> more)
    let used = 1
    while (used <= more && (bytes[at + used] & 0xc0) === 0x80) {
      point = (point << 6) | (bytes[at + used++] & 0x3f)
    }
    if (more < 0 || used <= more || point > 0x10ffff) point = 0xfffd
    at += used
    if (point > 0xffff) {
      const rest = point - 0x10000
      units.push(0xd800 | (rest >> 10), 0xdc00 | (rest & 0x3ff))
    } else units.push(point)
    if (units.length >= 4096) parts.push(String.fromCharCode(...units.splice(0)))
  }
  parts.push(String.fromCharCode(...units))
  return parts.join('')
}
