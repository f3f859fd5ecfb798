// The numbered local states of one rank with lazily filled transition tables: each transition is
// computed once by the rank's rules and looked up from then on. This file mutates its tables by
// design.

import type { Finding, Head, RankModel, RankState } from './rank-model.ts'
import { flag, rpcIdle } from './rank-model.ts'

/** What is known of a local state besides its events, as bits. */
export const attribute = { quiet: 1, awaitsRpc: 2, raised: 4, rpcFull: 8 } as const

const unknown = 0
const growth = 1024

/** Numbered local states of one rank with lazily filled transition tables. */
export class RankTable {
  readonly model: RankModel
  private readonly keys: string[] = []
  /** Events that each state takes part in. */
  mask = new Int32Array(growth)
  /** Next state + 1 per event; 0 unknown; negative: number of a violating transition. */
  succ: Int32Array<ArrayBuffer>
  /** Descriptor of the head of each channel + 1. */
  heads: Int32Array<ArrayBuffer>
  /** Next state + 1 per RPC token (batch, lost, idle). */
  tokens: Int32Array<ArrayBuffer>
  /** Bits of `attribute`. */
  attributes = new Uint8Array(growth)
  readonly eventCount: number
  readonly channelCount: number
  readonly tokenCount: number
  private readonly numbers = new Map<string, number>()
  private readonly raisingEvents: number[] = []
  private readonly mayRaise: boolean
  private readonly deliveries = new Map<number, number>()
  readonly violating: { next: number; findings: readonly Finding[] }[] = []

  constructor(model: RankModel, batchCount: number) {
    this.model = model
    this.eventCount = model.events.count
    this.channelCount = Math.max(1, model.channels.length)
    this.tokenCount = batchCount + 2
    this.succ = new Int32Array(growth * this.eventCount)
    this.heads = new Int32Array(growth * this.channelCount)
    this.tokens = new Int32Array(growth * this.tokenCount)
    this.mayRaise = model.operations.some(
      ({ form }) =>
        form.do === 'check-header' ||
        form.do === 'raise' ||
        (form.do === 'consume' && form.checks !== undefined),
    )
    this.intern(model.initial)
  }

  /** How many local states have been met. */
  get count(): number {
    return this.keys.length
  }

  /** All keys in the order of their numbers, for a checkpoint. */
  allKeys(): readonly string[] {
    return this.keys
  }

  /** A local state, unpacked: states are kept as compact strings, there can be millions. */
  at(number: number): RankState {
    return this.model.decode(this.keys[number])
  }

  intern(state: RankState): number {
    const key = this.model.key(state)
    const known = this.numbers.get(key)
    if (known !== undefined) return known
    const number = this.keys.length
    if (number >= this.mask.length) this.grow()
    this.keys.push(key)
    this.numbers.set(key, number)
    this.mask[number] = this.model.enabled(state)
    this.attributes[number] =
      (this.model.isQuiet(state) ? attribute.quiet : 0) |
      (this.model.awaitsRpc(state) ? attribute.awaitsRpc : 0) |
      (state.flags & flag.raised ? attribute.raised : 0) |
      (this.model.isRpcFull(state) ? attribute.rpcFull : 0)
    return number
  }

  private grow(): void {
    const size = this.mask.length * 2
    const enlarge = (old: Int32Array<ArrayBuffer>, width: number) => {
      const next = new Int32Array(size * width)
      next.set(old)
      return next
    }
    this.succ = enlarge(this.succ, this.eventCount)
    this.heads = enlarge(this.heads, this.channelCount)
    this.tokens = enlarge(this.tokens, this.tokenCount)
    this.mask = enlarge(this.mask, 1)
    const attributes = new Uint8Array(size)
    attributes.set(this.attributes)
    this.attributes = attributes
  }

  /** Next state of an event; ≥ 0, or −1 − v for violating transition v. */
  next(number: number, event: number): number {
    const cell = number * this.eventCount + event
    const known = this.succ[cell]
    if (known > 0) return known - 1
    if (known < 0) return known
    const found: Finding[] = []
    const state = this.model.change(this.at(number), event, found)
    const result = this.settle(state, found)
    this.succ[cell] = result >= 0 ? result + 1 : result
    return result
  }

  /** Transitions of a state that have been taken so far, as [event, state after it]. */
  taken(number: number): (readonly [event: number, after: number])[] {
    const found: (readonly [number, number])[] = []
    for (let event = 0; event < this.eventCount; event++) {
      const next = this.succ[number * this.eventCount + event]
      if (next === unknown) continue
      found.push([event, next > 0 ? next - 1 : this.violating[-1 - next].next])
    }
    return found
  }

  /** Which of these enabled local events of a state make the rank raise? */
  raising(number: number, local: number): number {
    if (!this.mayRaise) return 0
    let known = this.raisingEvents[number]
    if (known === undefined) {
      known = 0
      for (let bits = this.mask[number] & local; bits !== 0; bits &= bits - 1) {
        const event = 31 - Math.clz32(bits & -bits)
        const next = this.next(number, event)
        const after = next >= 0 ? next : this.violating[-1 - next].next
        if (this.attributes[after] & attribute.raised) known |= 1 << event
      }
      this.raisingEvents[number] = known
    }
    return known & local
  }

  private settle(state: RankState, found: readonly Finding[]): number {
    const next = this.intern(state)
    if (found.length === 0) return next
    this.violating.push({ next, findings: found })
    return -this.violating.length
  }

  token(number: number, token: number): number {
    const index = token >= 0 ? token : this.tokenCount + (token === rpcIdle ? -1 : -2)
    const cell = number * this.tokenCount + index
    if (this.tokens[cell] === unknown) {
      const next = this.intern(this.model.dispatch(this.at(number), token))
      this.tokens[cell] = next + 1
    }
    return this.tokens[cell] - 1
  }

  /** Completes the head of a channel with what was delivered to this rank. */
  deliver(number: number, channelIndex: number, bits: number): number {
    const event = this.model.events.match + channelIndex
    if (bits === 0) return this.next(number, event)
    const key = (number * 64 + channelIndex) * 64 + bits
    const known = this.deliveries.get(key)
    if (known !== undefined) return known
    const found: Finding[] = []
    const state = this.model.change(this.at(number), event, found, { bits })
    const result = this.settle(state, found)
    this.deliveries.set(key, result)
    return result
  }

  /** An eager payload arrives before this rank has asked for it. */
  arrive(number: number, channelIndex: number, head: Head, from: number): number {
    const found: Finding[] = []
    const event = this.model.events.match + channelIndex
    const state = this.model.change(this.at(number), event, found, { bits: 0, head, from })
    return this.settle(state, found)
  }
}
