// The whole model as one transition system: the engine's machine and pp rank models, which share
// events (dispatch, retire, match, rendezvous). A global state is one integer for the engine and
// one for each rank, because each component's local states are numbered when they are first met.

import { createEngineMachine } from '../spec/engine-machine.ts'
import { fail } from '../spec/error.ts'
import { describe } from '../spec/operation.ts'
import type { Scenario } from '../spec/scenario.ts'
import type { Channel } from './channels.ts'
import { channelName, channelsOf, meetingsOf } from './channels.ts'
import { createMatchRules } from './header-rules.ts'
import type { Finding, Head, RankState } from './rank-model.ts'
import { createRankModel, rpcIdle, rpcLost, rpcRingOf } from './rank-model.ts'
import { attribute, RankTable } from './rank-table.ts'
import type { MachineTable } from './tables.ts'
import { internMachine } from './tables.ts'
import { isDivergence, numberBatches, strikesAtDispatch } from './workload-batches.ts'

/** Kinds of global events; the code of an event is `kind << 16 | argument`. */
export const kinds = {
  local: 0,
  match: 1,
  meet: 2,
  dispatch: 3,
  retire: 4,
  idle: 5,
  fault: 6,
} as const

export const eventKind = (event: number): number => event >> 16
export const eventArgument = (event: number): number => event & 0xffff

/** One way in which the engine can dispatch its next step. */
interface Alternative {
  /** What each rank is handed: a batch number or `rpcLost`. */
  readonly tokens: readonly number[]
  readonly fault: number
  readonly text: string
}

/** Engine state: the machine's local state, position in the workload, faults that are left. */
interface EngineState {
  readonly local: number
  readonly position: number
  readonly faults: number
  readonly used: number
}

/** A transition that breaks a property; the world may be explored past it. */
export interface Violation {
  readonly findings: readonly Finding[]
}

const unknown = 0

/** When the engine may go idle: with runs of any length, wherever it could also dispatch. */
const idles = { never: 0, now: 1, whileFree: 2 } as const

/** What is wrong where nothing but missing polls is left. */
export const endlessPoll: Finding = {
  property: 'P6',
  text: 'a host polls for ever for work that can no longer complete; nothing else can move',
}

/** Result of firing an event: nothing, or what it broke. */
export type Fired = readonly Finding[] | undefined

/** In the table of outcomes: these two heads have not been compared, or do not match. */
const unasked = -1
const mismatched = -2

export class World {
  readonly scenario: Scenario
  readonly pp: number
  /** Integers of a global state: the engine and the ranks. */
  readonly width: number
  readonly ranks: readonly RankTable[]
  readonly channels: readonly Channel[]
  readonly meetings: readonly (readonly [number, number, string])[]
  readonly numbered: ReturnType<typeof numberBatches>
  private readonly matchRules: ReturnType<typeof createMatchRules>
  private readonly engineTable: MachineTable
  private readonly engines: EngineState[] = []
  private readonly engineNumbers = new Map<string, number>()
  private readonly alternatives: (readonly Alternative[])[] = []
  private readonly engineNext: Int32Array[] = []
  /** Per engine state: one of `idles`. */
  private readonly idles: number[] = []
  private readonly descriptors = new Map<string, number>()
  private readonly descriptorList: Head[] = []
  /** Per head: does it send, and which root does it name (−1: none)? */
  private readonly senders: { readonly sends: boolean; readonly root: number }[] = []
  /** Per sent head and received head: outcome bits, `unasked` or `mismatched`. */
  private readonly outcomes: Int32Array<ArrayBuffer>[] = []
  /** Scratch of `match`, one entry a member. */
  private readonly heads: Int32Array
  private readonly deliveries: Int32Array
  /** Per channel: each member's local channel index and its match bit. */
  private readonly memberIndex: readonly (readonly number[])[]
  private readonly memberBits: readonly (readonly number[])[]
  /** Per meeting: the event bits of its two ranks. */
  private readonly meetingBits: readonly (readonly number[])[]
  readonly replyRanks: readonly number[]
  private readonly replyBits: readonly number[]
  private readonly localMasks: Int32Array
  private readonly eager: number
  /** With P2 not asked for, a mismatch is explored further: NCCL then hangs (page 2.3). */
  private readonly mismatchHangs: boolean
  /** Faults that strike inside a rank, as [fault index, rank]. */
  readonly rankFaults: readonly (readonly [number, number])[]

  constructor(scenario: Scenario) {
    this.scenario = scenario
    const { protocol, topology, device } = scenario
    const { pp } = topology
    this.pp = pp
    this.width = pp + 1
    this.heads = new Int32Array(pp)
    this.deliveries = new Int32Array(pp)
    this.eager = device.eager
    this.mismatchHangs = scenario.properties?.includes('P2') === false
    this.channels = channelsOf(protocol, pp)
    this.meetings = meetingsOf(protocol, pp)
    this.numbered = numberBatches(scenario)
    const { batches } = this.numbered
    this.matchRules = createMatchRules(batches, pp, topology.drafts)
    const context = {
      scenario,
      batches,
      channels: this.channels,
      meetings: this.meetings,
      signatureOf: this.matchRules.signatureOf,
      header: this.matchRules.rules,
    }
    this.ranks = Array.from(
      { length: pp },
      (_, rank) => new RankTable(createRankModel(rank, protocol, context), batches.length),
    )
    this.localMasks = Int32Array.from(this.ranks, (_, rank) => this.localBitsOf(rank))
    this.memberIndex = this.channels.map((channel) =>
      channel.members.map((rank) => this.ranks[rank].model.channels.indexOf(channel.index)),
    )
    this.memberBits = this.channels.map((channel, index) =>
      channel.members.map(
        (rank, i) => 1 << (this.ranks[rank].model.events.match + this.memberIndex[index][i]),
      ),
    )
    this.meetingBits = this.meetings.map(([a, b], index) =>
      [a, b].map((rank) => {
        const { events, meetings } = this.ranks[rank].model
        return 1 << (events.meet + meetings.indexOf(index))
      }),
    )
    this.replyRanks = this.ranks.flatMap((table, rank) => (table.model.replies ? [rank] : []))
    this.replyBits = this.replyRanks.map((rank) => 1 << this.ranks[rank].model.events.retire)
    if (this.replyRanks.length === 0) {
      fail('PPC201', `${protocol.name}: no rank ever replies to the engine`)
    }
    this.engineTable = internMachine(
      createEngineMachine(scenario.engineWindow ?? topology.window),
      [{ type: 'DISPATCH' }, { type: 'RETIRE' }, { type: 'IDLE' }],
    )
    this.rankFaults = scenario.faults.flatMap((fault, index) =>
      strikesAtDispatch(fault)
        ? []
        : Array.from({ length: pp }, (_, rank) => [index, rank] as const).filter(
            ([, rank]) => fault.rank === 'any' || fault.rank === rank,
          ),
    )
    const all = (1 << scenario.faults.length) - 1
    this.internEngine({ local: 0, position: 0, faults: all, used: 0 })
  }

  /** Does any program contain a busy loop? */
  get hasPolls(): boolean {
    return this.ranks.some(({ model }) => model.operations.some(({ form }) => form.do === 'poll'))
  }

  /** Local states of all ranks that have been numbered so far. */
  get localStateCount(): number {
    return this.ranks.reduce((sum, { count }) => sum + count, 0)
  }

  /** The engine's local state and how many steps it has dispatched (counted up to a cap). */
  engineValue(engine: number): { readonly value: string; readonly inFlight: number } {
    const { value } = this.engineTable.states[this.engines[engine].local]
    return { value, inFlight: this.inFlight(engine) }
  }

  /** What each rank is handed by a dispatch alternative of an engine state. */
  dispatchTokens(engine: number, alternative: number): readonly number[] {
    return this.alternatives[engine][alternative].tokens
  }

  /** Writes the initial state. */
  initial(into: Int32Array): void {
    into.fill(0, 0, this.width)
  }

  private internEngine(state: EngineState): number {
    const key = `${state.local}/${state.position}/${state.faults}/${state.used}`
    const known = this.engineNumbers.get(key)
    if (known !== undefined) return known
    const number = this.engines.length
    this.engines.push(state)
    this.engineNumbers.set(key, number)
    const alternatives = this.alternativesOf(state)
    this.alternatives.push(alternatives)
    this.engineNext.push(new Int32Array(alternatives.length + 2 + this.rankFaults.length))
    this.idles.push(this.idleOf(state))
    return number
  }

  private idleOf(state: EngineState): number {
    if (!this.engineAccepts(state, 2)) return idles.never
    const { steps } = this.scenario.workload
    if (steps === 0) return idles.whileFree
    return state.position >= steps ? idles.now : idles.never
  }

  private engineAccepts(state: EngineState, event: number): boolean {
    return this.engineTable.next[state.local * 3 + event] >= 0
  }

  private alternativesOf(state: EngineState): Alternative[] {
    const { scenario, numbered, pp } = this
    const { steps } = scenario.workload
    if (!this.engineAccepts(state, 0)) return []
    if (steps > 0 && state.position >= steps) return []
    const scripted = state.position < numbered.script.length
    const batches = scripted ? [numbered.script[state.position]] : numbered.choices
    const found: Alternative[] = []
    for (const batch of batches) {
      const text = batches.length > 1 ? `batch ${batch}` : ''
      found.push({ tokens: Array.from({ length: pp }, () => batch), fault: -1, text })
    }
    if (state.used >= scenario.faultsMax) return found
    for (const [index, fault] of scenario.faults.entries()) {
      if (!(state.faults & (1 << index)) || !strikesAtDispatch(fault)) continue
      if (fault.step !== 'any' && fault.step !== state.position) continue
      for (const batch of batches) {
        for (const rank of this.ranksOf(fault)) {
          const isLost = fault.kind === 'lost-rpc'
          const wrong = isLost ? rpcLost : numbered.faulty(fault, batch)
          // Some batches cannot be mistaken in this way.
          if (wrong < 0 && !isLost) continue
          const everyone = fault.kind === 'request-reused'
          const tokens = Array.from({ length: pp }, (_, r) =>
            everyone || r === rank ? wrong : batch,
          )
          const whom = everyone ? '' : ` at rank ${rank}`
          found.push({ tokens, fault: index, text: `${fault.kind}${whom}` })
        }
      }
    }
    return found
  }

  private ranksOf(fault: { rank: number | 'any'; kind: string }): number[] {
    if (fault.kind === 'request-reused') return [0]
    if (fault.rank !== 'any') return [fault.rank]
    return Array.from({ length: this.pp }, (_, rank) => rank)
  }

  /** In how many ways the engine can dispatch now: none while some rank's RPC ring is full. */
  alternativeCount(state: Int32Array, at: number): number {
    return this.fullRings(state, at) === 0 ? this.alternatives[state[at]].length : 0
  }

  /** Bit set of the ranks whose RPC ring has no room. */
  fullRings(state: Int32Array, at: number): number {
    let full = 0
    for (let rank = 0; rank < this.pp; rank++) {
      if (this.ranks[rank].attributes[state[at + 1 + rank]] & attribute.rpcFull) full |= 1 << rank
    }
    return full
  }

  /**
   * Does retiring commute with dispatching in every state of the engine's machine? Not where a
   * dispatch could exceed the promised window: then their order decides whether P7 is broken.
   */
  retireCommutes(): boolean {
    const { states, next } = this.engineTable
    const { window } = this.scenario.topology
    return states.every((_, local) => {
      const [dispatched, retired] = [next[local * 3], next[local * 3 + 1]]
      if (dispatched < 0 || retired < 0) return true
      const one = next[dispatched * 3 + 1]
      const other = next[retired * 3]
      const exceeds = (engine: number): boolean =>
        (states[engine].context as { inFlight: number }).inFlight > window
      return one >= 0 && one === other && exceeds(dispatched) === exceeds(other)
    })
  }

  /** Would the engine dispatch if every ring had room? */
  wantsToDispatch(engine: number): boolean {
    return this.alternatives[engine].length > 0
  }

  /** What of the engine's choices has been taken so far; batches and faults by number. */
  engineEventsTaken(): {
    readonly batches: ReadonlySet<number>
    readonly faults: ReadonlySet<number>
    readonly idle: boolean
    readonly mostInFlight: number
  } {
    const batches = new Set<number>()
    const faults = new Set<number>()
    let idle = false
    let mostInFlight = 0
    this.engines.forEach((_, engine) => {
      const row = this.engineNext[engine]
      const alternatives = this.alternatives[engine]
      mostInFlight = Math.max(mostInFlight, this.inFlight(engine))
      alternatives.forEach(({ tokens, fault }, index) => {
        if (row[index] === unknown) return
        for (const token of tokens) if (token >= 0) batches.add(token)
        if (fault >= 0) faults.add(fault)
      })
      if (row[alternatives.length + 1] !== unknown) idle = true
      this.rankFaults.forEach(([fault], index) => {
        if (row[alternatives.length + 2 + index] !== unknown) faults.add(fault)
      })
    })
    return { batches, faults, idle, mostInFlight }
  }

  /** The engine's numbered states, and those of each rank, in order: what a checkpoint keeps. */
  saveNumbers(): { engineKeys: string[]; rankKeys: (readonly string[])[] } {
    return {
      engineKeys: [...this.engineNumbers.keys()],
      rankKeys: this.ranks.map((table) => table.allKeys()),
    }
  }

  /** Numbers states as a checkpoint did. Only on a world that has not been used yet. */
  restoreNumbers(engineKeys: readonly string[], rankKeys: readonly (readonly string[])[]): void {
    for (const key of engineKeys) {
      const [local, position, faults, used] = key.split('/').map(Number)
      this.internEngine({ local, position, faults, used })
    }
    rankKeys.forEach((keys, rank) => {
      const table = this.ranks[rank]
      for (const key of keys) table.intern(table.model.decode(key))
    })
  }

  /** May the engine go idle here? Where it could dispatch for ever, or when it has nothing left. */
  mayIdle(vector: Int32Array, at: number): boolean {
    const idle = this.idles[vector[at]]
    return idle === idles.whileFree ? this.alternativeCount(vector, at) > 0 : idle === idles.now
  }

  mayRetire(engine: number): boolean {
    return this.engineAccepts(this.engines[engine], 1)
  }

  inFlight(engine: number): number {
    const { context } = this.engineTable.states[this.engines[engine].local]
    return (context as { inFlight: number }).inFlight
  }

  isDraining(engine: number): boolean {
    return this.engineTable.states[this.engines[engine].local].value === 'draining'
  }

  hasDiverged(engine: number): boolean {
    const { faults } = this.engines[engine]
    return this.scenario.faults.some(
      (fault, index) => !(faults & (1 << index)) && isDivergence(fault),
    )
  }

  /** Is this rank fault still available in this engine state? */
  faultAvailable(engine: number, index: number): boolean {
    const { faults, used } = this.engines[engine]
    return used < this.scenario.faultsMax && (faults & (1 << this.rankFaults[index][0])) !== 0
  }

  private faultEvent(index: number): number {
    const [fault, rank] = this.rankFaults[index]
    const { events } = this.ranks[rank].model
    switch (this.scenario.faults[fault].kind) {
      case 'stall':
        return events.stall
      case 'die':
        return events.die
      case 'throw':
        return events.throws
      case 'duplicate-post':
        return events.twice
      default:
        return events.draftStall
    }
  }

  matchEnabled(state: Int32Array, at: number, channel: number): boolean {
    const { members } = this.channels[channel]
    const bits = this.memberBits[channel]
    if (this.isEager(channel)) {
      if (this.eagerSource(state, at, channel) >= 0) return true
      if (this.hasArrivals(state, at, channel)) return false
    }
    for (let i = 0; i < members.length; i++) {
      const rank = members[i]
      if ((this.ranks[rank].mask[state[at + 1 + rank]] & bits[i]) === 0) return false
    }
    return !this.mismatchHangs || this.mismatch(state, at, channel) === undefined
  }

  /** The match bit of the i-th member of a channel in its own event mask. */
  matchBit(channel: number, member: number): number {
    return this.memberBits[channel][member]
  }

  /** Does this channel let a root run ahead of its receivers? */
  isEager(channel: number): boolean {
    return this.eager > 0 && this.channels[channel].device
  }

  private eagerSource(state: Int32Array, at: number, channel: number): number {
    const { members } = this.channels[channel]
    const bits = this.memberBits[channel]
    for (let i = 0; i < members.length; i++) {
      const rank = members[i]
      if ((this.ranks[rank].mask[state[at + 1 + rank]] & bits[i]) === 0) continue
      if (!this.isRooted(state, at, channel, rank)) continue
      const full = members.some((other) => {
        if (other === rank) return false
        const { arrived } = this.ranks[other].at(state[at + 1 + other])
        const fromHere = arrived.filter((a) => a.channel === channel && a.from === rank)
        return fromHere.length >= this.eager
      })
      if (!full) return rank
    }
    return -1
  }

  /** Has the operation at the head of a channel one sender? A collective of all has none. */
  private isRooted(state: Int32Array, at: number, channel: number, rank: number): boolean {
    const head = this.descriptorList[this.headOf(state, at, channel, rank)]
    return this.ranks[rank].model.operations[head.op].form.do !== 'collective'
  }

  /** Is a payload on its way to some member? Then that member's position is before what follows. */
  private hasArrivals(state: Int32Array, at: number, channel: number): boolean {
    return this.channels[channel].members.some((rank) =>
      this.ranks[rank].at(state[at + 1 + rank]).arrived.some((a) => a.channel === channel),
    )
  }

  private headOf(state: Int32Array, at: number, channel: number, rank: number): number {
    return this.headAt(rank, state[at + 1 + rank], this.ranks[rank].model.channels.indexOf(channel))
  }

  /** The head of a rank's own i-th channel, looked up once for each local state. */
  private headAt(rank: number, number: number, index: number): number {
    const table = this.ranks[rank]
    const cell = number * table.channelCount + index
    const known = table.heads[cell]
    if (known !== unknown) return known - 1
    const head = table.model.head(table.at(number), table.model.channels[index])
    const found = this.internHead(head, table.model.operations[head.op].form.do === 'send')
    table.heads[cell] = found + 1
    return found
  }

  /** Heads that would match perfectly get the same number, unless their side (op) differs. */
  private internHead(head: Head, sends: boolean): number {
    const { signature, back, skew, batch, op } = head
    const key = `${signature}/${back}/${skew}/${batch}/${op}/${sends}`
    const known = this.descriptors.get(key)
    if (known !== undefined) return known
    const number = this.descriptorList.length
    this.descriptorList.push(head)
    this.senders.push({ sends, root: this.matchRules.signature(head.signature).root })
    this.outcomes.push(new Int32Array(0))
    this.descriptors.set(key, number)
    return number
  }

  /** What a receiver's head gets of a sent one: outcome bits, or `mismatched`. */
  private outcomeOf(sent: number, mine: number): number {
    let row = this.outcomes[sent]
    if (mine >= row.length) {
      const larger = new Int32Array(2 * this.descriptorList.length).fill(unasked)
      larger.set(row)
      row = larger
      this.outcomes[sent] = row
    }
    if (row[mine] === unasked) {
      const { bits, finding } = this.compareHeads(sent, mine)
      row[mine] = finding === undefined ? bits : mismatched
    }
    return row[mine]
  }

  private compareHeads(sent: number, mine: number): { bits: number; finding?: Finding } {
    const { descriptorList } = this
    return this.matchRules.rules.compare(descriptorList[sent], descriptorList[mine])
  }

  /**
   * Lists the events that are enabled in a state, in canonical order.
   * @returns how many were written to `into`.
   */
  enabledEvents(state: Int32Array, at: number, into: number[]): number {
    const { pp, ranks, localMasks, channels, meetings } = this
    let count = 0
    let attributes = 0
    for (let rank = 0; rank < pp; rank++) {
      const table = ranks[rank]
      const number = state[at + 1 + rank]
      attributes |= table.attributes[number]
      for (let bits = localMasks[rank] & table.mask[number]; bits !== 0; bits &= bits - 1) {
        into[count++] = (rank << 5) | (31 - Math.clz32(bits & -bits))
      }
    }
    if (attributes & attribute.raised) return 0
    for (let channel = 0; channel < channels.length; channel++) {
      if (this.matchEnabled(state, at, channel)) into[count++] = (kinds.match << 16) | channel
    }
    for (let meeting = 0; meeting < meetings.length; meeting++) {
      if (this.meetEnabled(state, at, meeting)) into[count++] = (kinds.meet << 16) | meeting
    }
    if (this.retireEnabled(state, at)) into[count++] = kinds.retire << 16
    const ringsHaveRoom = (attributes & attribute.rpcFull) === 0
    const alternatives = ringsHaveRoom ? this.alternatives[state[at]].length : 0
    for (let k = 0; k < alternatives; k++) {
      into[count++] = (kinds.dispatch << 16) | k
    }
    if (this.mayIdle(state, at)) into[count++] = kinds.idle << 16
    for (let index = 0; index < this.rankFaults.length; index++) {
      if (this.faultEnabled(state, at, index)) into[count++] = (kinds.fault << 16) | index
    }
    return count
  }

  faultEnabled(state: Int32Array, at: number, index: number): boolean {
    if (!this.faultAvailable(state[at], index)) return false
    const [fault, rank] = this.rankFaults[index]
    const { step } = this.scenario.faults[fault]
    if (step !== 'any' && this.stepOf(state, at, rank) !== step) return false
    const bit = 1 << this.faultEvent(index)
    return (this.ranks[rank].mask[state[at + 1 + rank]] & bit) !== 0
  }

  /** The step that a rank is in: what was dispatched less what it has not taken yet. */
  private stepOf(state: Int32Array, at: number, rank: number): number {
    const { rpc } = this.rankState(state, at, rank)
    const queued = rpc.filter((token) => token !== rpcIdle).length
    return this.engines[state[at]].position - 1 - queued
  }

  /** Local events that need no partner: host, polls, streams, eager arrivals. */
  localBits(rank: number): number {
    return this.localMasks[rank]
  }

  private localBitsOf(rank: number): number {
    const { events, streams, channels } = this.ranks[rank].model
    const run = (first: number, count: number): number => (((1 << count) - 1) << first) >>> 0
    return (
      (1 << events.host) |
      (1 << events.pollMiss) |
      run(events.move, streams.length) |
      run(events.arrive, channels.length)
    )
  }

  meetEnabled(state: Int32Array, at: number, meeting: number): boolean {
    const [a, b] = this.meetings[meeting]
    const [bitA, bitB] = this.meetingBits[meeting]
    return (
      (this.ranks[a].mask[state[at + 1 + a]] & bitA) !== 0 &&
      (this.ranks[b].mask[state[at + 1 + b]] & bitB) !== 0
    )
  }

  retireEnabled(state: Int32Array, at: number): boolean {
    const { replyRanks } = this
    for (let i = 0; i < replyRanks.length; i++) {
      const rank = replyRanks[i]
      if ((this.ranks[rank].mask[state[at + 1 + rank]] & this.replyBits[i]) === 0) return false
    }
    return this.mayRetire(state[at])
  }

  isRaised(state: Int32Array, at: number): boolean {
    for (let rank = 0; rank < this.pp; rank++) {
      if (this.ranks[rank].attributes[state[at + 1 + rank]] & attribute.raised) return true
    }
    return false
  }

  /**
   * Fires an event, changing the state in place.
   * @returns what it broke, if anything; the state is then the one after the violation.
   */
  fire(state: Int32Array, at: number, event: number): Fired {
    const argument = event & 0xffff
    switch (event >> 16) {
      case kinds.local:
        return this.move(state, at, argument >> 5, argument & 31)
      case kinds.match:
        return this.match(state, at, argument)
      case kinds.meet: {
        const [a, b] = this.meetings[argument]
        const eventOf = (rank: number): number => {
          const { model } = this.ranks[rank]
          return model.events.meet + model.meetings.indexOf(argument)
        }
        const first = this.move(state, at, a, eventOf(a))
        const second = this.move(state, at, b, eventOf(b))
        return first ?? second
      }
      case kinds.dispatch:
        return this.dispatch(state, at, argument)
      case kinds.retire: {
        state[at] = this.engineStep(state[at], this.alternatives[state[at]].length, (engine) => ({
          ...engine,
          local: this.engineTable.next[engine.local * 3 + 1],
        }))
        let fired: Fired
        for (const rank of this.replyRanks) {
          fired = this.move(state, at, rank, this.ranks[rank].model.events.retire) ?? fired
        }
        return fired
      }
      case kinds.idle: {
        state[at] = this.engineStep(
          state[at],
          this.alternatives[state[at]].length + 1,
          (engine) => ({ ...engine, local: this.engineTable.next[engine.local * 3 + 2] }),
        )
        for (let rank = 0; rank < this.pp; rank++) {
          state[at + 1 + rank] = this.ranks[rank].token(state[at + 1 + rank], rpcIdle)
        }
        return undefined
      }
      default: {
        const [fault, rank] = this.rankFaults[argument]
        const slot = this.alternatives[state[at]].length + 2 + argument
        state[at] = this.engineStep(state[at], slot, (engine) => ({
          ...engine,
          faults: engine.faults & ~(1 << fault),
          used: engine.used + 1,
        }))
        return this.move(state, at, rank, this.faultEvent(argument))
      }
    }
  }

  private engineStep(
    engine: number,
    slot: number,
    change: (state: EngineState) => EngineState,
  ): number {
    const row = this.engineNext[engine]
    if (row[slot] === unknown) row[slot] = this.internEngine(change(this.engines[engine])) + 1
    return row[slot] - 1
  }

  private move(state: Int32Array, at: number, rank: number, event: number): Fired {
    return this.land(state, at, rank, this.ranks[rank].next(state[at + 1 + rank], event))
  }

  private land(state: Int32Array, at: number, rank: number, next: number): Fired {
    if (next >= 0) {
      state[at + 1 + rank] = next
      return undefined
    }
    const violating = this.ranks[rank].violating[-1 - next]
    state[at + 1 + rank] = violating.next
    return violating.findings
  }

  private dispatch(state: Int32Array, at: number, index: number): Fired {
    const { tokens, fault } = this.alternatives[state[at]][index]
    for (let rank = 0; rank < this.pp; rank++) {
      state[at + 1 + rank] = this.ranks[rank].token(state[at + 1 + rank], tokens[rank])
    }
    state[at] = this.engineStep(state[at], index, (engine) => ({
      local: this.engineTable.next[engine.local * 3],
      position: Math.min(this.positionCap(), engine.position + 1),
      faults: fault >= 0 ? engine.faults & ~(1 << fault) : engine.faults,
      used: engine.used + (fault >= 0 ? 1 : 0),
    }))
    const inFlight = this.inFlight(state[at])
    const { window } = this.scenario.topology
    if (inFlight <= window) return undefined
    return [{ property: 'P7', text: `${inFlight} steps are in flight, the window is ${window}` }]
  }

  /** Endless runs: positions count only as far as a script or a fault's step refers to them. */
  private positionCap(): number {
    const { steps: runLength, script } = this.scenario.workload
    if (runLength > 0) return runLength
    // A rank that a fault hits in its own step may be a whole ring of calls behind the engine.
    const behind = rpcRingOf(this.scenario) + 1
    const steps = this.scenario.faults.map((fault) =>
      fault.step === 'any' ? 0 : fault.step + 1 + (strikesAtDispatch(fault) ? 0 : behind),
    )
    return Math.max(script.length, ...steps)
  }

  /** What the heads of a channel disagree in, if they do not match. */
  private mismatch(state: Int32Array, at: number, channel: number): Finding | undefined {
    const { members } = this.channels[channel]
    const heads = members.map((rank) => this.headOf(state, at, channel, rank))
    const source = this.sourceAmong(channel, heads)
    for (let i = 0; i < members.length; i++) {
      if (i === source) continue
      const { finding } = this.compareHeads(heads[source], heads[i])
      if (finding === undefined) continue
      const where =
        `on ${channelName(this.channels[channel])}, ` +
        `rank ${members[i]} and rank ${members[source]}`
      return { property: finding.property, text: `${finding.text} (${where})` }
    }
    return undefined
  }

  private match(state: Int32Array, at: number, channel: number): Fired {
    if (this.isEager(channel) && this.eagerSource(state, at, channel) >= 0) {
      return this.matchEagerly(state, at, channel)
    }
    const { members } = this.channels[channel]
    const indices = this.memberIndex[channel]
    const { heads, deliveries, ranks } = this
    for (let i = 0; i < members.length; i++) {
      heads[i] = this.headAt(members[i], state[at + 1 + members[i]], indices[i])
    }
    const source = this.sourceAmong(channel, heads)
    for (let i = 0; i < members.length; i++) {
      deliveries[i] = i === source ? 0 : this.outcomeOf(heads[source], heads[i])
      if (deliveries[i] !== mismatched) continue
      const finding = this.mismatch(state, at, channel)
      return finding === undefined ? undefined : [finding]
    }
    let fired: Fired
    for (let i = 0; i < members.length; i++) {
      const rank = members[i]
      const next = ranks[rank].deliver(state[at + 1 + rank], indices[i], deliveries[i])
      fired = this.land(state, at, rank, next) ?? fired
    }
    return fired
  }

  /**
   * Whose post the others are compared with: the sender of a pair, the root of a broadcast, the
   * first member of a collective without one.
   */
  private sourceAmong(channel: number, heads: ArrayLike<number>): number {
    const { members, pair } = this.channels[channel]
    for (let i = 0; i < members.length; i++) {
      const { sends, root } = this.senders[heads[i]]
      if (pair ? sends : root === members[i]) return i
    }
    return 0
  }

  private matchEagerly(state: Int32Array, at: number, channel: number): Fired {
    const { members } = this.channels[channel]
    const source = this.eagerSource(state, at, channel)
    const head = this.descriptorList[this.headOf(state, at, channel, source)]
    let fired: Fired
    for (let i = 0; i < members.length; i++) {
      const rank = members[i]
      const table = this.ranks[rank]
      const index = this.memberIndex[channel][i]
      const next =
        rank === source
          ? table.deliver(state[at + 1 + rank], index, 0)
          : table.arrive(state[at + 1 + rank], index, head, source)
      fired = this.land(state, at, rank, next) ?? fired
    }
    return fired
  }

  /** Adds what a finding means once ranks have diverged: nobody reported it in time (P4). */
  judge(state: Int32Array, at: number, findings: readonly Finding[]): readonly Finding[] {
    if (!this.hasDiverged(state[at])) return findings
    const wrong = findings.find(({ property }) => ['P2', 'P3', 'P12'].includes(property))
    if (wrong === undefined) return findings
    const text = `ranks have diverged and no rank reported it before: ${wrong.text}`
    return [...findings, { property: 'P4', text }]
  }

  /** What is wrong with a state in which nothing is enabled; undefined where all is done. */
  judgeStop(state: Int32Array, at: number): Finding[] | undefined {
    if (this.isRaised(state, at)) return undefined
    const engine = state[at]
    let quiet = true
    let hostsIdle = true
    for (let rank = 0; rank < this.pp; rank++) {
      const attributes = this.ranks[rank].attributes[state[at + 1 + rank]]
      if (!(attributes & attribute.quiet)) quiet = false
      if (!(attributes & attribute.awaitsRpc)) hostsIdle = false
    }
    const idle = this.isDraining(engine) && this.inFlight(engine) === 0
    if (idle && quiet) return undefined
    const findings: Finding[] = [
      idle && hostsIdle
        ? { property: 'P10', text: 'the engine is idle and posted operations are left unmatched' }
        : { property: 'P1', text: 'work is outstanding and nothing can move' },
    ]
    if (this.hasDiverged(engine)) {
      findings.push({
        property: 'P4',
        text: 'ranks have diverged and no rank reports it: only a watchdog ends this',
      })
    }
    return findings
  }

  /** Rank states of a global state, for explanations and replay. */
  rankState(state: Int32Array, at: number, rank: number): RankState {
    return this.ranks[rank].at(state[at + 1 + rank])
  }

  /** The ranks' own events that a global event consists of, as [rank, event]. */
  rankEvents(event: number): (readonly [number, number])[] {
    const argument = event & 0xffff
    switch (event >> 16) {
      case kinds.local:
        return [[argument >> 5, argument & 31]]
      case kinds.match:
        return this.channels[argument].members.map((rank, i) => [
          rank,
          this.ranks[rank].model.events.match + this.memberIndex[argument][i],
        ])
      case kinds.meet:
        return [this.meetings[argument][0], this.meetings[argument][1]].map((rank) => {
          const { model } = this.ranks[rank]
          return [rank, model.events.meet + model.meetings.indexOf(argument)]
        })
      case kinds.retire:
        return this.replyRanks.map((rank) => [rank, this.ranks[rank].model.events.retire])
      case kinds.fault:
        return [[this.rankFaults[argument][1], this.faultEvent(argument)]]
      default:
        return []
    }
  }

  /** Ranks that take part in an event; none for the engine alone. */
  participants(event: number): readonly number[] {
    return this.rankEvents(event).map(([rank]) => rank)
  }

  /** Are all these events polls that miss (which change nothing)? */
  onlyPolls(events: readonly number[], total: number): boolean {
    for (let i = 0; i < total; i++) {
      if (events[i] >> 16 !== kinds.local) return false
      const { pollMiss } = this.ranks[(events[i] & 0xffff) >> 5].model.events
      if ((events[i] & 31) !== pollMiss) return false
    }
    return total > 0
  }

  /** An event in words. */
  describeEvent(state: Int32Array, at: number, event: number): string {
    const argument = event & 0xffff
    switch (event >> 16) {
      case kinds.local:
        return this.describeLocal(state, at, argument >> 5, argument & 31)
      case kinds.match: {
        const channel = this.channels[argument]
        const sender = this.isEager(argument) ? this.eagerSource(state, at, argument) : -1
        const source = sender >= 0 ? sender : channel.members[0]
        const head = this.descriptorList[this.headOf(state, at, argument, source)]
        const { name } = this.ranks[source].model.operations[head.op]
        const what = channel.pair ? `activation ${channel.members.join('→')}` : name
        const where = channelName(channel)
        return sender >= 0
          ? `${what} completes eagerly on ${where}`
          : `${what} completes on ${where}`
      }
      case kinds.meet: {
        const [a, b, name] = this.meetings[argument]
        return `ranks ${a} and ${b} meet for ${name}`
      }
      case kinds.dispatch: {
        const { text } = this.alternatives[state[at]][argument]
        return `engine dispatches a step${text ? ` (${text})` : ''}`
      }
      case kinds.retire:
        return 'engine retires a step'
      case kinds.idle:
        return 'engine goes idle'
      default: {
        const [fault, rank] = this.rankFaults[argument]
        return `fault ${this.scenario.faults[fault].kind} at rank ${rank}`
      }
    }
  }

  private describeLocal(state: Int32Array, at: number, rank: number, event: number): string {
    const { model } = this.ranks[rank]
    const { events, streams, operations } = model
    const local = this.rankState(state, at, rank)
    if (event === events.host || event === events.pollMiss) {
      const op = model.standsAt(local)
      return `rank ${rank}: ${op < 0 ? 'takes its next call' : describe(operations[op].form)}`
    }
    if (event >= events.arrive) return `rank ${rank}: takes an eager arrival`
    const stream = event - events.move
    const entry = local.device.find((e) => operations[e >> 16].stream === stream)
    const operation = entry === undefined ? undefined : operations[entry >> 16]
    const verb = operation?.kind === 'transfer' ? 'starts' : 'completes'
    return `rank ${rank}: ${operation?.name ?? '?'} ${verb} on ${streams[stream]}`
  }
}
