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

/** What `add` returns for a new state that there is no room for: no state has that number. */
export const refused = -numberMask - 1

/** States that `addAll` takes at once. */
export const batchMax = 256

export class VisitedStates {
  readonly width: number
  /** States that are kept at most, and what sets that number. */
  readonly countMax: number
  readonly endsAt: 'memory' | 'states'
  /** Was a new state refused because there are `countMax` already? */
  overflowed = false
  count = 0
  /** Words of all states, one after the other. */
  private words: Uint16Array<ArrayBuffer> | Int32Array<ArrayBuffer>
  /** The state from which each one was first reached, −1 for the initial one. */
  parents: Int32Array<ArrayBuffer>
  private slots: Int32Array<ArrayBuffer>
  private slotMask: number
  private growAt: number
  private readonly hashes = new Int32Array(batchMax)
  /** Keeps what `addAll` loads ahead of time from being optimised away. */
  protected warmed = 0

  /**
   * @param memoryBytes budget for the whole store.
   * @param statesMax states that may be kept at most, if the budget has room for them.
   */
  constructor(width: number, memoryBytes: number, statesMax = storeMax) {
    if (memoryBytes < memoryMin) {
      fail('PPC101', `the memory budget must be at least ${memoryMin} bytes, got ${memoryBytes}`)
    }
    this.width = width
    const fitting = Math.min(storeMax, Math.floor(memoryBytes / bytesPerState(width)))
    this.endsAt = fitting < statesMax ? 'memory' : 'states'
    this.countMax = Math.min(fitting, statesMax)
    const first = 1024
    this.words = new Uint16Array(first * width)
    this.parents = new Int32Array(first)
    this.slots = new Int32Array(2 * first)
    this.slotMask = 2 * first - 1
    this.growAt = growthPoint(2 * first)
  }

  /** Bytes in use, as allocated. */
  get bytes(): number {
    return this.words.byteLength + this.parents.byteLength + this.slots.byteLength
  }

  /**
   * Adds a state.
   * @returns its number if it is new, −1 − number if it was known, `refused` if there is no room.
   */
  add(state: Int32Array, at: number, parent: number): number {
    return this.addHashed(state, at, parent, hash(state, at, this.width))
  }

  /** `add` for a state whose hash is known already. */
  private addHashed(state: Int32Array, at: number, parent: number, h: number): number {
    const { width, slots, slotMask, words } = this
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
    if (this.count >= this.countMax) {
      this.overflowed = true
      return refused
    }
    const number = this.count++
    slots[slot] = tag | (number + 1)
    if (number >= this.parents.length) this.growStates()
    this.write(number, state, at)
    this.parents[number] = parent
    if (this.count > this.growAt) this.growSlots()
    return number
  }

  /**
   * Adds several states that lie one after the other, in order. The first two passes only touch
   * what the last one needs: their loads do not depend on each other, so the processor waits for
   * all of them at once. A large set spends nearly all its time waiting for memory: this halves it.
   * @param parents the state from which each one was reached.
   */
  addAll(states: Int32Array, count: number, parents: Int32Array): void {
    // Room first: growing in the middle would recompute the very hashes that are kept here.
    while (Math.min(this.count + count, this.countMax) > this.growAt) this.growSlots()
    const { width, slots, slotMask, words, hashes } = this
    for (let k = 0; k < count; k++) hashes[k] = hash(states, k * width, width)
    let warm = 0
    for (let k = 0; k < count; k++) warm ^= slots[hashes[k] & slotMask]
    for (let k = 0; k < count; k++) {
      const number = slots[hashes[k] & slotMask] & numberMask
      if (number > 0) warm ^= words[(number - 1) * width]
    }
    this.warmed = warm
    for (let k = 0; k < count; k++) this.addHashed(states, k * width, parents[k], hashes[k])
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

  /** Puts all states into a table of `size` slots; in batches, for the reason told at `addAll`. */
  private rehash(size: number): void {
    const { width, words, hashes, count } = this
    const slots = new Int32Array(size)
    const mask = size - 1
    let warm = 0
    for (let first = 0; first < count; first += batchMax) {
      const end = Math.min(count, first + batchMax)
      for (let number = first; number < end; number++) {
        const h = hash(words, number * width, width)
        hashes[number - first] = h
        warm ^= slots[h & mask]
      }
      for (let number = first; number < end; number++) {
        const h = hashes[number - first]
        let slot = h & mask
        while (slots[slot] !== 0) slot = (slot + 1) & mask
        slots[slot] = (h & ~numberMask) | (number + 1)
      }
    }
    this.warmed = warm
    this.slots = slots
    this.slotMask = mask
    this.growAt = growthPoint(size)
  }
}

/** Slots are three quarters full at most. */
const growthPoint = (slots: number): number => Math.floor(slots * 0.75)

/**
 * Odd multipliers, one a word (Weyl's sequence of the golden ratio, mixed). The products are
 * summed, not chained: they do not wait for each other. The finaliser is that of MurmurHash3.
 */
const multipliers = Int32Array.from({ length: 64 }, (_, i) => mix(Math.imul(i + 1, 0x9e3779b9)) | 1)

function mix(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

function hash(state: Int32Array | Uint16Array, at: number, width: number): number {
  let sum = 0x9e3779b9 | 0
  for (let i = 0; i < width; i++) sum = (sum + Math.imul(state[at + i], multipliers[i])) | 0
  return mix(sum)
}
