// One run of the world in virtual time: every event that becomes possible takes some time, and the
// one that is finished first happens first. So the order of events is that of an engine with these
// costs, not an arbitrary one. Costs are jittered, and now and then something is far later than
// usual (a page fault, another process): that is what finds rare orders. Deterministic by seed.

import { fail } from '../spec/error.ts'
import type { Finding } from './rank-model.ts'
import { entryAgo, entryOp, rpcIdle } from './rank-model.ts'
import type { TraceEvent } from './replay.ts'
import { mix } from './search/random.ts'
import { endlessPoll, kinds, type World } from './world.ts'

/** Usual times in microseconds of virtual time; each is jittered by a fifth. */
export interface Costs {
  /** A statement of a host. */
  readonly hostUs: number
  /** The model's forward pass on one stage: a part of its own, and so much for a token. */
  readonly forwardUs: number
  readonly forwardPerTokenUs: number
  /** The kernel named draft, and any other. */
  readonly draftUs: number
  readonly otherKernelUs: number
  /** A point-to-point transfer of activations. */
  readonly pairUs: number
  readonly pairPerTokenUs: number
  /** A collective on the device, and one on the CPU transport. */
  readonly collectiveUs: number
  readonly cpuCollectiveUs: number
  /** The engine: dispatching a step, taking a reply. */
  readonly dispatchUs: number
  readonly replyUs: number
  /** One event in so many is late by up to `hiccupUs`. */
  readonly hiccupEvery: number
  readonly hiccupUs: number
}

/** What the engine wants to do next. */
export type Wish =
  | { readonly kind: 'dispatch'; readonly alternative: number; readonly tokens: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'end' }

/** Whoever drives the engine: asked for every step, told of every reply. */
export interface EngineDriver {
  /** Called when the engine could dispatch, with the number of the step. */
  readonly next: (step: number) => Wish
  /** The oldest step's reply has come. */
  readonly retired: () => void
  /** Rank `rank` has adopted what was sampled in a step, counted over steps that sample. */
  readonly adopted: (rank: number, slot: number) => void
}

/** What an event of a rank is, worked out once for each local state. */
interface Label {
  /** Operation, −1 where the host takes its next call. */
  readonly op: number
  readonly name: string
  readonly isHost: boolean
  /** Steps before the engine's last dispatch. */
  readonly back: number
  /** Does it take the oldest pending receive? */
  readonly adopts: boolean
}

export type RunEnd = 'running' | 'done' | 'stuck' | 'violated'

const never = Number.POSITIVE_INFINITY
const ringSize = 256
/** The last events are kept, for the story of a wedge. */
const keptMax = 600

export class TimedRun {
  readonly world: World
  /** Virtual time in microseconds. */
  nowUs = 0
  events = 0
  dispatched = 0
  retired = 0
  end: RunEnd = 'running'
  findings: readonly Finding[] = []
  readonly state: Int32Array
  /** Most steps in flight at once since it was last reset. */
  occupancy = 0
  private readonly costs: Costs
  private readonly driver: EngineDriver
  private readonly seed: number
  private counter = 0
  /** When each event of a rank is finished; `never` where it is not enabled. */
  private readonly readyAt: Float64Array
  private readonly masks: Int32Array
  private readonly rankNext: Float64Array
  private readonly channelNext: Float64Array
  private readonly meetingNext: Float64Array
  private dispatchAt = never
  private retireAt = never
  private wish: Wish | undefined
  private readonly labels: Map<number, Label>[]
  private readonly channelsOf: readonly (readonly number[])[]
  private readonly meetingsOf: readonly (readonly number[])[]
  private readonly tokens = new Int32Array(ringSize)
  private readonly slots: Int32Array
  /** The last events and the states before them, as a ring. */
  private readonly recentEvents = new Int32Array(keptMax)
  private readonly recentStates: Int32Array

  /** @throws PpcheckError PPC204 for a protocol that faults or eager sends would make choose. */
  constructor(world: World, costs: Costs, driver: EngineDriver, seed: number) {
    if (world.rankFaults.length > 0) fail('PPC204', 'a timed run injects no faults')
    this.world = world
    this.costs = costs
    this.driver = driver
    this.seed = seed
    const { pp, channels, meetings } = world
    this.state = new Int32Array(world.width)
    this.recentStates = new Int32Array(world.width * keptMax)
    world.initial(this.state)
    this.readyAt = new Float64Array(pp * 32).fill(never)
    this.masks = new Int32Array(pp)
    this.rankNext = new Float64Array(pp).fill(never)
    this.channelNext = new Float64Array(channels.length).fill(never)
    this.meetingNext = new Float64Array(meetings.length).fill(never)
    this.labels = world.ranks.map(() => new Map())
    this.slots = new Int32Array(pp)
    const involving = (members: (index: number) => readonly number[], count: number) =>
      world.ranks.map((_, rank) =>
        Array.from({ length: count }, (__, index) => index).filter((index) =>
          members(index).includes(rank),
        ),
      )
    this.channelsOf = involving((index) => channels[index].members, channels.length)
    this.meetingsOf = involving(
      (index) => [meetings[index][0], meetings[index][1]],
      meetings.length,
    )
    for (let rank = 0; rank < pp; rank++) this.refreshRank(rank, -1)
    this.refreshEngine()
  }

  /** Lets the next event happen. @returns false when the run has ended. */
  step(): boolean {
    const event = this.earliest()
    if (event < 0) return this.finish()
    const { state, world } = this
    this.keep(event)
    this.events++
    const kind = event >> 16
    if (kind === kinds.local) this.note(event)
    const found = world.fire(state, 0, event)
    if (found !== undefined) {
      this.findings = world.judge(state, 0, found)
      this.end = 'violated'
      return false
    }
    switch (kind) {
      case kinds.local:
        this.refreshRank((event & 0xffff) >> 5, event & 31)
        this.touchShared((event & 0xffff) >> 5)
        break
      case kinds.match:
        this.channelNext[event & 0xffff] = never
        for (const rank of world.channels[event & 0xffff].members) this.touch(rank)
        break
      case kinds.meet:
        this.meetingNext[event & 0xffff] = never
        this.touch(world.meetings[event & 0xffff][0])
        this.touch(world.meetings[event & 0xffff][1])
        break
      default:
        for (let rank = 0; rank < world.pp; rank++) this.touch(rank)
    }
    this.refreshEngine()
    return true
  }

  /** The last events, for an explanation: each with the ranks that took part. */
  recent(): TraceEvent[] {
    const { world, events } = this
    const first = Math.max(0, events - keptMax)
    return Array.from({ length: events - first }, (_, index) => {
      const place = (first + index) % keptMax
      const event = this.recentEvents[place]
      const text = world.describeEvent(this.recentStates, place * world.width, event)
      return { number: first + index + 1, text, ranks: world.participants(event) }
    })
  }

  private keep(event: number): void {
    const place = this.events % keptMax
    this.recentEvents[place] = event
    this.recentStates.set(this.state, place * this.world.width)
  }

  /** Nothing can move: is all done, or is this the wedge? */
  private finish(): boolean {
    const stop = this.world.judgeStop(this.state, 0)
    this.end = stop === undefined ? 'done' : 'stuck'
    this.findings = stop ?? []
    return false
  }

  private earliest(): number {
    const { rankNext, channelNext, meetingNext } = this
    let at = never
    let event = -1
    for (let rank = 0; rank < rankNext.length; rank++) {
      if (rankNext[rank] < at) {
        at = rankNext[rank]
        event = rank << 5
      }
    }
    if (event >= 0) event |= this.firstOf(event >> 5)
    for (let channel = 0; channel < channelNext.length; channel++) {
      if (channelNext[channel] < at) {
        at = channelNext[channel]
        event = (kinds.match << 16) | channel
      }
    }
    for (let meeting = 0; meeting < meetingNext.length; meeting++) {
      if (meetingNext[meeting] < at) {
        at = meetingNext[meeting]
        event = (kinds.meet << 16) | meeting
      }
    }
    if (this.retireAt < at) {
      at = this.retireAt
      event = kinds.retire << 16
    }
    if (this.dispatchAt < at) {
      at = this.dispatchAt
      event = this.takeWish()
    }
    if (event >= 0) this.nowUs = at
    if (event >> 16 === kinds.retire && event >= 0) {
      this.retired++
      this.retireAt = never
      this.driver.retired()
      // What has come back may change what is scheduled next.
      if (this.wish?.kind === 'wait') this.wish = undefined
    }
    if (event >= 0 && this.pollsOnly(event)) {
      this.findings = [endlessPoll]
      this.end = 'stuck'
      return -1
    }
    return event
  }

  /** A poll that misses changes nothing; where nothing else is left it goes on for ever. */
  private pollsOnly(event: number): boolean {
    const buffer: number[] = []
    if (event >> 16 !== kinds.local) return false
    const { pollMiss } = this.world.ranks[(event & 0xffff) >> 5].model.events
    if ((event & 31) !== pollMiss) return false
    const total = this.world.enabledEvents(this.state, 0, buffer)
    return this.world.onlyPolls(buffer, total) && this.dispatchAt === never
  }

  private takeWish(): number {
    const { wish } = this
    this.wish = undefined
    this.dispatchAt = never
    if (wish?.kind !== 'dispatch') return kinds.idle << 16
    this.tokens[this.dispatched % ringSize] = wish.tokens
    this.dispatched++
    return (kinds.dispatch << 16) | wish.alternative
  }

  private firstOf(rank: number): number {
    const { readyAt } = this
    for (let event = 0; event < 32; event++) {
      if (readyAt[rank * 32 + event] === this.rankNext[rank]) return event
    }
    return 0
  }

  private touch(rank: number): void {
    this.refreshRank(rank, -1)
    this.touchShared(rank)
  }

  /** Times of a rank's own events; `fired` happened, so if it is still enabled it is a new one. */
  private refreshRank(rank: number, fired: number): void {
    const { world, readyAt, masks } = this
    const number = this.state[1 + rank]
    const mask = world.ranks[rank].mask[number] & world.localBits(rank)
    const before = fired >= 0 ? masks[rank] & ~(1 << fired) : masks[rank]
    for (let bits = before & ~mask; bits !== 0; bits &= bits - 1) {
      readyAt[rank * 32 + 31 - Math.clz32(bits & -bits)] = never
    }
    if (fired >= 0) readyAt[rank * 32 + fired] = never
    for (let bits = mask & ~before; bits !== 0; bits &= bits - 1) {
      const event = 31 - Math.clz32(bits & -bits)
      readyAt[rank * 32 + event] = this.nowUs + this.jittered(this.localUs(rank, number, event))
    }
    masks[rank] = mask
    let next = never
    for (let bits = mask; bits !== 0; bits &= bits - 1) {
      const at = readyAt[rank * 32 + 31 - Math.clz32(bits & -bits)]
      if (at < next) next = at
    }
    this.rankNext[rank] = next
  }

  private touchShared(rank: number): void {
    const { world, state, channelNext, meetingNext } = this
    for (const channel of this.channelsOf[rank]) {
      if (!world.matchEnabled(state, 0, channel)) channelNext[channel] = never
      else if (channelNext[channel] === never) {
        channelNext[channel] = this.nowUs + this.jittered(this.matchUs(channel))
      }
    }
    for (const meeting of this.meetingsOf[rank]) {
      if (!world.meetEnabled(state, 0, meeting)) meetingNext[meeting] = never
      else if (meetingNext[meeting] === never) {
        meetingNext[meeting] = this.nowUs + this.jittered(this.costs.hostUs)
      }
    }
  }

  private refreshEngine(): void {
    const { world, state, costs } = this
    if (!world.retireEnabled(state, 0)) this.retireAt = never
    else if (this.retireAt === never) this.retireAt = this.nowUs + this.jittered(costs.replyUs)
    this.occupancy = Math.max(this.occupancy, world.inFlight(state[0]))
    if (world.isDraining(state[0]) || world.alternativeCount(state, 0) === 0) {
      this.dispatchAt = never
      return
    }
    if (this.dispatchAt !== never) return
    this.wish ??= this.driver.next(this.dispatched)
    if (this.wish.kind === 'wait') return
    this.dispatchAt = this.nowUs + this.jittered(costs.dispatchUs)
  }

  private matchUs(channel: number): number {
    const { pair, device, members } = this.world.channels[channel]
    if (!device) return this.costs.cpuCollectiveUs
    if (!pair) return this.costs.collectiveUs
    // An activation is of the step that the receiver runs next, which the sender has run already.
    const newest = this.dispatched - 1 - members.length
    const { pairUs, pairPerTokenUs } = this.costs
    return pairUs + pairPerTokenUs * this.tokens[Math.max(0, newest) % ringSize]
  }

  private localUs(rank: number, number: number, event: number): number {
    const { name, isHost, back } = this.label(rank, number, event)
    const { hostUs, forwardUs, forwardPerTokenUs, draftUs, otherKernelUs } = this.costs
    if (isHost) return hostUs
    if (name === 'draft') return draftUs
    if (name !== 'forward') return otherKernelUs
    const step = this.dispatched - 1 - back
    return forwardUs + forwardPerTokenUs * this.tokens[((step % ringSize) + ringSize) % ringSize]
  }

  /** Tells the driver of an adoption, just before it happens. */
  private note(event: number): void {
    const rank = (event & 0xffff) >> 5
    const { adopts } = this.label(rank, this.state[1 + rank], event & 31)
    if (adopts) this.driver.adopted(rank, this.slots[rank]++)
  }

  private label(rank: number, number: number, event: number): Label {
    const key = number * 32 + event
    const known = this.labels[rank].get(key)
    if (known !== undefined) return known
    const table = this.world.ranks[rank]
    const { model } = table
    const local = table.at(number)
    const queued = local.rpc.filter((token) => token !== rpcIdle).length
    const isHost = event === model.events.host || event === model.events.pollMiss
    const entry = local.device.find(
      (each) => model.operations[entryOp(each)].stream === event - model.events.move,
    )
    const op = isHost ? model.standsAt(local) : entry === undefined ? -1 : entryOp(entry)
    const ago = isHost || entry === undefined ? 0 : entryAgo(entry)
    const next = table.next(number, event)
    const after = table.at(next >= 0 ? next : table.violating[-1 - next].next)
    const label = {
      op,
      name: model.operations[op]?.name ?? 'call',
      isHost,
      back: queued + ago,
      adopts: model.operations[op]?.kind === 'consume' && after.slots.length < local.slots.length,
    }
    this.labels[rank].set(key, label)
    return label
  }

  private jittered(us: number): number {
    const { costs } = this
    const draw = mix(this.seed, this.counter++)
    const share = (draw & 0xffff) / 0x10000
    const isHiccup = (draw >>> 16) % costs.hiccupEvery === 0
    return us * (0.8 + 0.4 * share) + (isHiccup ? share * costs.hiccupUs : 0)
  }
}
