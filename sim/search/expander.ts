// Turns the world into the graph that is searched. With reduction `none`, every enabled event is a
// branch. With `stubborn`, events that are independent of everything run to closure, and at what is
// left a stubborn set is chosen: a set of events such that nothing outside it can interfere with it
// before one of its members happens. The dependence relation is derived, see independence.ts.

import { InternalError } from '../../spec/error.ts'
import type { Finding } from '../rank-model.ts'
import { attribute } from '../rank-table.ts'
import { eventKind, kinds, type World } from '../world.ts'
import { type Dependence, deriveAmongDevice, deriveBesideHost, union } from './independence.ts'

export type Reduction = 'stubborn' | 'none'

/** Safe local events and matches while certain ranks still have faults ahead of them. */
interface SafeEvents {
  readonly local: Int32Array
  /** Per rank and local state: the state after all its safe local events, + 1; 0 unknown. */
  readonly closed: Int32Array[]
  /** How many events that took. */
  readonly closedSteps: Int32Array[]
  readonly match: Uint8Array
  readonly meet: Uint8Array
}

/** What happened while independent events ran to closure. */
export interface Closure {
  /** Findings of the first event that broke a property, if any. */
  findings: readonly Finding[] | undefined
  /** Events fired, if recording was asked for. */
  readonly events: number[]
}

/** A closure of more events than this has a cycle of its own; no protocol has so long a step. */
const closureMax = 1_000_000

export class Expander {
  readonly world: World
  readonly reduction: Reduction
  /** Per rank: dependence without, and with, the rank faults of the scenario. */
  readonly plain: readonly Dependence[]
  readonly faulty: readonly Dependence[]
  private readonly safeByFaults = new Map<number, SafeEvents>()
  private readonly engineFaults: number[] = []
  private readonly scratch: number[] = []
  private readonly ranksOf: number[] = []
  private readonly keys: number[] = []
  /** Where an engine breaks its own window, the order of its events matters: no reduction there. */
  private readonly retireIsSafe: boolean
  private readonly readyMembers: Int32Array
  private readonly memberMasks: Int32Array
  /** Events fired since construction: transitions in the checker's statistics. */
  fired = 0

  constructor(world: World, reduction: Reduction) {
    this.world = world
    this.reduction = reduction
    const derive = (withFaults: boolean): Dependence[] =>
      world.ranks.map((_, rank) => dependenceOf(world, rank, withFaults))
    this.retireIsSafe = world.retireCommutes()
    this.readyMembers = new Int32Array(world.channels.length)
    this.memberMasks = Int32Array.from(world.channels, ({ members }) =>
      members.reduce((mask, rank) => mask | (1 << rank), 0),
    )
    this.plain = reduction === 'none' ? [] : derive(false)
    this.faulty = reduction === 'none' || world.rankFaults.length === 0 ? this.plain : derive(true)
  }

  /** Bit set of ranks that a fault may still hit in this engine state. */
  private faultRanks(engine: number): number {
    let known = this.engineFaults[engine]
    if (known !== undefined) return known
    known = 0
    this.world.rankFaults.forEach(([, rank], index) => {
      if (this.world.faultAvailable(engine, index)) known |= 1 << rank
    })
    this.engineFaults[engine] = known
    return known
  }

  private dependence(rank: number, faultRanks: number): Dependence {
    return faultRanks & (1 << rank) ? this.faulty[rank] : this.plain[rank]
  }

  private safeEvents(engine: number): SafeEvents {
    const faultRanks = this.faultRanks(engine)
    const known = this.safeByFaults.get(faultRanks)
    if (known !== undefined) return known
    const { world } = this
    const free = (rank: number, event: number): boolean =>
      this.dependence(rank, faultRanks)[event] === 0
    const local = Int32Array.from(world.ranks, ({ model }, rank) => {
      let bits = world.localBits(rank) & ~(1 << model.events.pollMiss)
      for (let event = 0; event < model.events.count; event++) {
        if (!free(rank, event)) bits &= ~(1 << event)
      }
      return bits
    })
    const match = Uint8Array.from(world.channels, (channel) => {
      const all = channel.members.every((rank) => {
        const { events, channels } = world.ranks[rank].model
        return free(rank, events.match + channels.indexOf(channel.index))
      })
      return all ? 1 : 0
    })
    const meet = Uint8Array.from(world.meetings, ([a, b], index) => {
      const all = [a, b].every((rank) => {
        const { events, meetings } = world.ranks[rank].model
        return free(rank, events.meet + meetings.indexOf(index))
      })
      return all ? 1 : 0
    })
    const closed = world.ranks.map(() => new Int32Array(1024))
    const closedSteps = world.ranks.map(() => new Int32Array(1024))
    const safe = { local, match, meet, closed, closedSteps }
    this.safeByFaults.set(faultRanks, safe)
    return safe
  }

  /**
   * Runs independent events until none is left, in place. Stops at the first broken property.
   * @param record append the events fired to `into.events`.
   */
  close(state: Int32Array, at: number, into: Closure, record: boolean): void {
    into.findings = undefined
    if (this.reduction === 'none') return
    const { world } = this
    if (world.isRaised(state, at)) return
    const { pp, ranks } = world
    let budget = closureMax
    for (let moved = true; moved; ) {
      moved = false
      const safe = this.safeEvents(state[at])
      for (let rank = 0; rank < pp; rank++) {
        const table = ranks[rank]
        const slot = at + 1 + rank
        if (!record) {
          const steps = this.closeRank(safe, rank, state[slot])
          if (steps === 0) continue
          if (steps > 0) {
            state[slot] = safe.closed[rank][state[slot]] - 1
            this.fired += steps
            moved = true
            if (table.attributes[state[slot]] & attribute.raised) return
            continue
          }
        }
        for (;;) {
          const bits = this.safeBits(safe, rank, state[slot])
          if (bits === 0) break
          const event = 31 - Math.clz32(bits & -bits)
          const next = table.next(state[slot], event)
          this.fired++
          if (--budget < 0) throw new InternalError('a closure of independent events does not end')
          if (record) into.events.push((rank << 5) | event)
          moved = true
          if (next < 0) {
            state[slot] = table.violating[-1 - next].next
            if (this.report(state, at, table.violating[-1 - next].findings, into)) return
          } else state[slot] = next
          if (table.attributes[state[slot]] & attribute.raised) return
        }
      }
      for (let channel = 0; channel < safe.match.length; channel++) {
        if (!safe.match[channel] || !world.matchEnabled(state, at, channel)) continue
        moved = true
        if (this.fireShared(state, at, (kinds.match << 16) | channel, into, record)) return
      }
      for (let meeting = 0; meeting < safe.meet.length; meeting++) {
        if (!safe.meet[meeting] || !world.meetEnabled(state, at, meeting)) continue
        moved = true
        if (this.fireShared(state, at, (kinds.meet << 16) | meeting, into, record)) return
      }
      while (this.retireIsSafe && world.retireEnabled(state, at)) {
        moved = true
        if (this.fireShared(state, at, kinds.retire << 16, into, record)) return
      }
      const only = this.onlyEngineEvent(state, at)
      if (only >= 0) {
        moved = true
        if (this.fireShared(state, at, only, into, record)) return
      }
    }
  }

  /**
   * A rank's safe events, without those that make it raise: a raise ends the run, so it commutes
   * with nothing. But it enables nothing either, so it is enough to raise when all else is done.
   */
  private safeBits(safe: SafeEvents, rank: number, number: number): number {
    const table = this.world.ranks[rank]
    const bits = table.mask[number] & safe.local[rank]
    return bits === 0 ? 0 : bits & ~table.raising(number, this.world.localBits(rank))
  }

  /**
   * Looks up where a rank's safe local events lead, computing it once for each local state.
   * @returns how many events that are; −1 if one breaks a property (then go step by step).
   */
  private closeRank(safe: SafeEvents, rank: number, number: number): number {
    const table = this.world.ranks[rank]
    if (this.safeBits(safe, rank, number) === 0) return 0
    let closed = safe.closed[rank]
    if (number >= closed.length) {
      closed = enlarged(closed, Math.max(number + 1, table.count))
      safe.closed[rank] = closed
      safe.closedSteps[rank] = enlarged(safe.closedSteps[rank], closed.length)
    }
    if (closed[number] !== 0) return safe.closedSteps[rank][number]
    let current = number
    let steps = 0
    for (;;) {
      const bits = this.safeBits(safe, rank, current)
      if (bits === 0) break
      if (++steps > closureMax) throw new InternalError('safe events of a rank do not end')
      const next = table.next(current, 31 - Math.clz32(bits & -bits))
      if (next < 0) {
        steps = -1
        break
      }
      current = next
    }
    closed[number] = current + 1
    safe.closedSteps[rank][number] = steps
    return steps
  }

  /** The engine's single way to go on, −1 if it has none or a choice. */
  private onlyEngineEvent(state: Int32Array, at: number): number {
    if (!this.retireIsSafe) return -1
    const count = this.world.alternativeCount(state, at)
    const idle = this.world.mayIdle(state, at)
    if (count === 1 && !idle) return kinds.dispatch << 16
    return count === 0 && idle ? kinds.idle << 16 : -1
  }

  private fireShared(
    state: Int32Array,
    at: number,
    event: number,
    into: Closure,
    record: boolean,
  ): boolean {
    this.fired++
    if (record) into.events.push(event)
    const findings = this.world.fire(state, at, event)
    return findings !== undefined && this.report(state, at, findings, into)
  }

  private report(
    state: Int32Array,
    at: number,
    findings: readonly Finding[],
    into: Closure,
  ): boolean {
    into.findings = this.world.judge(state, at, findings)
    return true
  }

  /**
   * The events that must be explored from a closed state.
   * @returns how many were written to `into`; 0 means that nothing is enabled.
   */
  choices(state: Int32Array, at: number, into: number[]): number {
    if (this.reduction === 'none') return this.world.enabledEvents(state, at, into)
    const { world } = this
    if (world.isRaised(state, at)) return 0
    if (!this.retireIsSafe) return world.enabledEvents(state, at, into)
    let count = 0
    const alternatives = world.alternativeCount(state, at)
    if (alternatives > 0) {
      for (let k = 0; k < alternatives; k++) into[count++] = (kinds.dispatch << 16) | k
      if (world.mayIdle(state, at)) into[count++] = kinds.idle << 16
      return count
    }
    const enabled = this.scratch
    const all = world.enabledEvents(state, at, enabled)
    const total = this.withoutRaising(state, at, enabled, all)
    if (total <= 1) {
      // Nothing but raises, faults and missing polls: each way to raise may break something else.
      const last = total === 0 ? all : 1
      for (let i = 0; i < last; i++) into[i] = enabled[i]
      return last
    }
    return this.smallestStubborn(state, at, enabled, total, into)
  }

  /**
   * Leaves out the events that make a rank raise while anything else can move.
   * @returns how many are left; 0 if nothing else can move: then all are still there.
   */
  private withoutRaising(state: Int32Array, at: number, events: number[], total: number): number {
    let raising = 0
    let keys = 0
    for (let k = 0; k < total; k++) {
      if (this.isRaising(state, at, events[k])) raising++
      else if (this.isKey(events[k])) keys++
    }
    if (keys === 0) return 0
    if (raising === 0) return total
    let count = 0
    for (let k = 0; k < total; k++) {
      if (!this.isRaising(state, at, events[k])) events[count++] = events[k]
    }
    return count
  }

  private isRaising(state: Int32Array, at: number, event: number): boolean {
    if (eventKind(event) !== kinds.local) return false
    const rank = (event & 0xffff) >> 5
    const { world } = this
    const raising = world.ranks[rank].raising(state[at + 1 + rank], world.localBits(rank))
    return (raising & (1 << (event & 31))) !== 0
  }

  /**
   * Tries a stubborn set from every rank that has something enabled; the smallest wins. It must
   * hold an event that nobody else can take away: neither a missing poll, which changes nothing and
   * would put off the rest for ever, nor a fault, of which only so many may strike anywhere.
   */
  private smallestStubborn(
    state: Int32Array,
    at: number,
    enabled: readonly number[],
    total: number,
    into: number[],
  ): number {
    let movable = 0
    for (let k = 0; k < total; k++) {
      this.ranksOf[k] = this.participantMask(enabled[k])
      movable |= this.ranksOf[k]
    }
    this.readPartners(state, at)
    const { keys } = this
    for (let k = 0; k < total; k++) keys[k] = this.isKey(enabled[k]) ? this.ranksOf[k] : 0
    let best = -1
    let bestSize = total + 1
    for (let rest = movable; rest !== 0 && bestSize > 1; rest &= rest - 1) {
      const opened = this.openFrom(state, at, 31 - Math.clz32(rest & -rest))
      let size = 0
      let hasKey = false
      for (let k = 0; k < total; k++) {
        if (this.ranksOf[k] & opened) size++
        if (keys[k] & opened) hasKey = true
      }
      if (hasKey && size < bestSize) {
        bestSize = size
        best = opened
      }
    }
    let count = 0
    for (let k = 0; k < total; k++) if (this.ranksOf[k] & best) into[count++] = enabled[k]
    return count
  }

  private isKey(event: number): boolean {
    const kind = eventKind(event)
    if (kind !== kinds.local) return kind !== kinds.fault
    const { pollMiss } = this.world.ranks[(event & 0xffff) >> 5].model.events
    return (event & 31) !== pollMiss
  }

  /** Bit set of the ranks that take part in an event; the engine's own stand for its repliers. */
  private participantMask(event: number): number {
    if (eventKind(event) === kinds.local) return 1 << ((event & 0xffff) >> 5)
    let mask = 0
    for (const rank of this.world.participants(event)) mask |= 1 << rank
    if (mask === 0) for (const rank of this.world.replyRanks) mask |= 1 << rank
    return mask
  }

  /** For each channel: which members are ready, and whether it could match now. */
  private readPartners(state: Int32Array, at: number): void {
    const { world } = this
    for (let channel = 0; channel < world.channels.length; channel++) {
      const { members } = world.channels[channel]
      let ready = 0
      for (let i = 0; i < members.length; i++) {
        const rank = members[i]
        const bit = world.matchBit(channel, i)
        if (world.ranks[rank].mask[state[at + 1 + rank]] & bit) ready |= 1 << rank
      }
      this.readyMembers[channel] = ready
    }
  }

  /**
   * The ranks that must be opened together with a rank: whatever could enable, at an opened rank,
   * something that interferes is itself an event of an opened rank. A disabled event needs only one
   * reason why it is disabled (a necessary enabling set), so one missing partner is enough.
   */
  private openFrom(state: Int32Array, at: number, start: number): number {
    const { world } = this
    let opened = 0
    let work = 1 << start
    while (work !== 0) {
      const rank = 31 - Math.clz32(work & -work)
      work &= work - 1
      opened |= 1 << rank
      const { model, mask, attributes } = world.ranks[rank]
      const local = state[at + 1 + rank]
      const here = mask[local]
      const { events, channels, meetings } = model
      for (let i = 0; i < channels.length; i++) {
        const wanted = this.openForChannel(state, at, rank, channels[i], opened | work)
        work |= wanted & ~opened
      }
      for (let i = 0; i < meetings.length; i++) {
        if ((here & (1 << (events.meet + i))) === 0) continue
        const [a, b] = world.meetings[meetings[i]]
        work |= (1 << (a === rank ? b : a)) & ~opened
      }
      if (attributes[local] & attribute.awaitsRpc || here & (1 << events.retire)) {
        work |= this.openForReply(state, at, opened | work) & ~opened
      }
    }
    return opened
  }

  /** Ranks to open because this rank takes part in a channel. */
  private openForChannel(
    state: Int32Array,
    at: number,
    rank: number,
    channel: number,
    opened: number,
  ): number {
    const { world } = this
    const everyone = this.memberMasks[channel]
    // Eager deliveries happen to a rank at any time: whoever shares the channel may matter.
    if (world.isEager(channel)) return everyone
    const ready = this.readyMembers[channel]
    if ((ready & (1 << rank)) === 0) return 0
    const missing = everyone & ~ready
    if (missing !== 0) return missing & opened ? 0 : missing & -missing
    if (!world.matchEnabled(state, at, channel)) return everyone
    let wanted = 0
    const faultRanks = this.faultRanks(state[at])
    const { members } = world.channels[channel]
    for (let i = 0; i < members.length; i++) {
      const event = 31 - Math.clz32(world.matchBit(channel, i))
      if (this.dependence(members[i], faultRanks)[event] !== 0) wanted |= 1 << members[i]
    }
    return wanted
  }

  /**
   * The next call comes only after a reply, or once a full RPC ring has room: one rank that owes
   * either is enough.
   */
  private openForReply(state: Int32Array, at: number, opened: number): number {
    const { world } = this
    let owing = world.wantsToDispatch(state[at]) ? world.fullRings(state, at) : 0
    if (owing !== 0) return owing & opened ? 0 : owing & -owing
    for (const rank of world.replyRanks) {
      const { model, mask } = world.ranks[rank]
      if ((mask[state[at + 1 + rank]] & (1 << model.events.retire)) === 0) owing |= 1 << rank
    }
    return owing & opened ? 0 : owing & -owing
  }
}

const enlarged = (old: Int32Array, atLeast: number): Int32Array => {
  const next = new Int32Array(Math.max(2 * old.length, atLeast))
  next.set(old)
  return next
}

/** Pure results, kept for the process: a ladder asks for the same ranks again and again. */
const derived = new Map<string, Dependence>()
const derivedMax = 4096

function remembered(key: string, compute: () => Dependence): Dependence {
  const known = derived.get(key)
  if (known !== undefined) return known
  const found = compute()
  if (derived.size >= derivedMax) derived.clear()
  derived.set(key, found)
  return found
}

function dependenceOf(world: World, rank: number, withFaults: boolean): Dependence {
  const { model } = world.ranks[rank]
  let ignored = (1 << model.events.pollMiss) | faultBits(model.events)
  if (withFaults) {
    world.rankFaults.forEach(([, hit], index) => {
      if (hit === rank) ignored &= ~faultBit(world, index, rank)
    })
  }
  const { execute, sample, idle, pp } = model.program
  const { device } = world.scenario
  const { eager, moduleLoading } = device
  const ordered = model.channels.map((channel) => world.channels[channel].ordered)
  const who = eager > 0 ? rank : rank === pp - 1
  const { batches } = world.numbered
  const program = [execute, sample, idle, pp, who, ordered, ignored, eager, moduleLoading, batches]
  const key = JSON.stringify(program)
  return union(
    remembered(`host ${key}`, () => deriveBesideHost(model, ignored)),
    remembered(`device ${key} ${JSON.stringify(device)}`, () =>
      deriveAmongDevice(model, ignored, device),
    ),
  )
}

const faultBits = (events: World['ranks'][number]['model']['events']): number =>
  (1 << events.stall) |
  (1 << events.die) |
  (1 << events.throws) |
  (1 << events.twice) |
  (1 << events.draftStall)

const faultBit = (world: World, index: number, rank: number): number => {
  const { events } = world.ranks[rank].model
  const kind = world.scenario.faults[world.rankFaults[index][0]].kind
  switch (kind) {
    case 'stall':
      return 1 << events.stall
    case 'die':
      return 1 << events.die
    case 'throw':
      return 1 << events.throws
    case 'duplicate-post':
      return 1 << events.twice
    default:
      return 1 << events.draftStall
  }
}
