// The set of visited states: open addressing over typed arrays. Exact: a state is equal only if all
// its words are. This file mutates its arguments by design; nothing else in sim/ does.
//
// What decides the speed is cache misses, so everything is small: words are 16 bits wide until a
// component has more than 65 536 local states, and a slot carries five bits of the hash beside the
// number, so that a probe reads a state's words only when it is (nearly always) the same state.

import { fail } from '../../spec/error.ts'

const numberBits = 27
const numberMask = 2 ** numberBits - 1
/** Exact states that one store can hold. */
export const storeMax = numberMask - 1

/** What the store needs for one state, in bytes, with 16-bit words at the usual load. */
export const bytesPerState = (width: number): number => 2 * width + 4 + 8

/** Smallest memory budget that makes sense, in bytes. */
export const memoryMin = 2 ** 20

export class VisitedStates {
  readonly width: number
  /** States that fit the memory budget. */
  readonly countMax: number
  count = 0
  /** Words of all states, one after the other. */
  private words: Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer>
  /** The state from which each one was first reached, −1 for the initial one. */
  parents: Int32Array<ArrayBuffer>
  private slots: Int32Array<ArrayBuffer>
  private slotMask: number
  private growAt: number

  /** @param memoryBytes budget for the whole store. */
  constructor(width: number, memoryBytes: number) {
    if (memoryBytes < memoryMin) {
      fail('PPC101', `the memory budget must be at least ${memoryMin} bytes, got ${memoryBytes}`)
    }
    this.width = width
    this.countMax = Math.min(storeMax, Math.floor(memoryBytes / bytesPerState(width)))
    const first = 1024
    this.words = new Uint16Array(first * width)
    this.parents = new Int32Array(first)
    this.slots = new Int32Array(2 * first)
    this.slotMask = 2 * first - 1
    this.growAt = growthPoint(2 * first)
  }

  get isFull(): boolean {
    return this.count >= this.countMax
  }

  /** Bytes in use, as allocated. */
  get bytes(): number {
    return this.words.byteLength + this.parents.byteLength + this.slots.byteLength
  }

  /** Adds a state. @returns its number if it is new, −1 − number if it was known. */
  add(state: Int32Array, at: number, parent: number): number {
    const { width, slots, slotMask, words } = this
    const h = hash(state, at, width)
    const tag = h & ~numberMask
    let slot = h & slotMask
    for (;;) {
      const stored = slots[slot]
      if (stored === 0) break
      if ((stored & ~numberMask) === tag) {
        const offset = ((stored & numberMask) - 1) * width
        let i = 0
        while (i < width && words[offset + i] === state[at + i]) i++
        if (i === width) return -(stored & numberMask)
      }
      slot = (slot + 1) & slotMask
    }
    const number = this.count++
    slots[slot] = tag | (number + 1)
    if (number >= this.parents.length) this.growStates()
    this.write(number, state, at)
    this.parents[number] = parent
    if (this.count > this.growAt) this.growSlots()
    return number
  }

  /** The number of a state, −1 if it has not been added. */
  find(state: Int32Array, at: number): number {
    const { width, slots, slotMask, words } = this
    let slot = hash(state, at, width) & slotMask
    for (; slots[slot] !== 0; slot = (slot + 1) & slotMask) {
      const number = (slots[slot] & numberMask) - 1
      let i = 0
      while (i < width && words[number * width + i] === state[at + i]) i++
      if (i === width) return number
    }
    return -1
  }

  private write(number: number, state: Int32Array, at: number): void {
    const { width } = this
    const offset = number * width
    for (let i = 0; i < width; i++) {
      if (state[at + i] > 0xffff && this.words instanceof Uint16Array) this.widen()
      this.words[offset + i] = state[at + i]
    }
  }

  /** Copies a state out. */
  read(number: number, into: Int32Array): void {
    const { words, width } = this
    const offset = number * width
    for (let i = 0; i < width; i++) into[i] = words[offset + i]
  }

  /** The words and parents of all states as bytes, for a checkpoint. */
  save(): { words: Uint8Array; wide: boolean; parents: Uint8Array } {
    const { words, parents, count, width } = this
    const wide = words instanceof Int32Array
    const used = count * width * (wide ? 4 : 2)
    return {
      wide,
      words: new Uint8Array(words.buffer, 0, used),
      parents: new Uint8Array(parents.buffer, 0, 4 * count),
    }
  }

  /** Puts back what `save` gave, into an empty store. */
  restore(count: number, wide: boolean, words: Uint8Array, parents: Uint8Array): void {
    if (wide) this.widen()
    while (this.parents.length < count) this.growStates()
    new Uint8Array(this.words.buffer).set(words)
    new Uint8Array(this.parents.buffer).set(parents)
    this.count = count
    let slots = this.slots.length
    while (growthPoint(slots) < count) slots *= 2
    this.rehash(slots)
  }

  private widen(): void {
    this.words = Int32Array.from(this.words)
  }

  private growStates(): void {
    const size = Math.min(storeMax + 1, Math.ceil(this.parents.length * 1.5))
    const wide = this.words instanceof Int32Array
    const words = wide ? new Int32Array(size * this.width) : new Uint16Array(size * this.width)
    words.set(this.words)
    this.words = words
    const parents = new Int32Array(size)
    parents.set(this.parents)
    this.parents = parents
  }

  private growSlots(): void {
    this.rehash(this.slots.length * 2)
  }

  private rehash(size: number): void {
    const slots = new Int32Array(size)
    const mask = slots.length - 1
    const state = new Int32Array(this.width)
    for (let number = 0; number < this.count; number++) {
      this.read(number, state)
      const h = hash(state, 0, this.width)
      let slot = h & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = (h & ~numberMask) | (number + 1)
    }
    this.slots = slots
    this.slotMask = mask
    this.growAt = growthPoint(slots.length)
  }
}

/** Slots are three quarters full at most. */
const growthPoint = (slots: number): number => Math.floor(slots * 0.75)

/** Multiplicative mixing (the constants of MurmurHash3's finaliser), good in all bits. */
function hash(state: Int32Array, at: number, width: number): number {
  let h = 0x9e3779b9 | 0
  for (let i = 0; i < width; i++) {
    h = Math.imul(h ^ state[at + i], 0x85ebca6b)
    h ^= h >>> 15
  }
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 13)
}
