// The set of visited states: open addressing over typed arrays. Exact: a state is equal only if all
// its words are. This file mutates its arguments by design; nothing else in sim/ does.

/** What the store needs for one state, in bytes, at the largest load. */
export const bytesPerState = (width: number): number => 4 * width + 4 + 8

export class VisitedStates {
  readonly width: number
  /** States that fit the memory budget. */
  readonly countMax: number
  count = 0
  /** Words of all states, one after the other. */
  words: Int32Array<ArrayBuffer>
  /** The state from which each one was first reached, −1 for the initial one. */
  parents: Int32Array<ArrayBuffer>
  private slots: Int32Array<ArrayBuffer>
  private slotMask: number

  /** @param memoryBytes budget for the whole store. */
  constructor(width: number, memoryBytes: number) {
    this.width = width
    this.countMax = Math.max(1, Math.min(2 ** 29, Math.floor(memoryBytes / bytesPerState(width))))
    const first = 1024
    this.words = new Int32Array(first * width)
    this.parents = new Int32Array(first)
    this.slots = new Int32Array(2 * first)
    this.slotMask = 2 * first - 1
  }

  get isFull(): boolean {
    return this.count >= this.countMax
  }

  /** Bytes in use, as allocated. */
  get bytes(): number {
    return 4 * (this.words.length + this.parents.length + this.slots.length)
  }

  /** Adds a state. @returns its number if it is new, −1 − number if it was known. */
  add(state: Int32Array, at: number, parent: number): number {
    const { width } = this
    let slot = hash(state, at, width) & this.slotMask
    for (;;) {
      const stored = this.slots[slot]
      if (stored === 0) break
      if (this.equals(stored - 1, state, at)) return -stored
      slot = (slot + 1) & this.slotMask
    }
    const number = this.count++
    if (number >= this.parents.length) this.growStates()
    const offset = number * width
    for (let i = 0; i < width; i++) this.words[offset + i] = state[at + i]
    this.parents[number] = parent
    this.slots[slot] = number + 1
    if (this.count * 2 > this.slots.length) this.growSlots()
    return number
  }

  private equals(number: number, state: Int32Array, at: number): boolean {
    const { words, width } = this
    const offset = number * width
    for (let i = 0; i < width; i++) if (words[offset + i] !== state[at + i]) return false
    return true
  }

  private growStates(): void {
    const size = Math.min(this.countMax + 1, Math.ceil(this.parents.length * 1.6))
    const words = new Int32Array(size * this.width)
    words.set(this.words)
    this.words = words
    const parents = new Int32Array(size)
    parents.set(this.parents)
    this.parents = parents
  }

  private growSlots(): void {
    const slots = new Int32Array(this.slots.length * 2)
    this.slotMask = slots.length - 1
    for (let number = 0; number < this.count; number++) {
      let slot = hash(this.words, number * this.width, this.width) & this.slotMask
      while (slots[slot] !== 0) slot = (slot + 1) & this.slotMask
      slots[slot] = number + 1
    }
    this.slots = slots
  }
}

/** Multiplicative mixing (the constants of MurmurHash3's finaliser), good in the low bits. */
function hash(state: Int32Array, at: number, width: number): number {
  let h = 0x9e3779b9 | 0
  for (let i = 0; i < width; i++) {
    h = Math.imul(h ^ state[at + i], 0x85ebca6b)
    h ^= h >>> 15
  }
  h = Math.imul(h, 0xc2b2ae35)
  return h ^ (h >>> 13)
}
