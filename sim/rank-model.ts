// One rank as a transition system: its host thread (tables of the XState machine), its device
// (streams, communicators, residency) and its CPU transport. This file is the contract of page 2.3;
// it must stay independent of how states are searched. Steps are counted back from the rank's own
// current step ("ago"), so that endless runs have finitely many states.

import type { Batch } from '../spec/batch.ts'
import { assert, fail } from '../spec/error.ts'
import type { TransferOperation } from '../spec/operation.ts'
import { isTransfer } from '../spec/operation.ts'
import type { Protocol } from '../spec/program.ts'
import type { PropertyId } from '../spec/properties.ts'
import type { RankEvent } from '../spec/rank-machine.ts'
import { createRankMachine } from '../spec/rank-machine.ts'
import type { RankProgram } from '../spec/resolve-program.ts'
import { programOf, resolvePeer } from '../spec/resolve-program.ts'
import type { Scenario } from '../spec/scenario.ts'
import type { Channel } from './channels.ts'
import type { HeaderRules } from './header-rules.ts'
import { createRankCodec } from './rank-codec.ts'
import type { CompiledOperation, RankEvents } from './rank-program.ts'
import { buffersOf, compileOperations, numberEvents } from './rank-program.ts'
import type { MachineTable } from './tables.ts'
import { internMachine } from './tables.ts'

/** Tokens of a rank's RPC queue besides batch numbers. */
export const rpcLost = -1
export const rpcIdle = -2

/**
 * vLLM's shared-memory ring has ten chunks. No sound protocol fills this one: a rank that is more
 * than a window behind has not done what the last rank's reply depends on. It keeps the states
 * finite where the last rank depends on nobody.
 */
export const rpcRingOf = ({ topology }: Scenario): number => 2 * topology.window + 2

/** Flags of a rank. */
export const flag = { stalled: 1, dead: 2, draftStalled: 4, raised: 8 } as const

// An entry of a queue is one integer: started (1 bit), batch (7), ago (6), skew (2), op (10).
const startedBit = 1
const batchShift = 1
const agoShift = 8
const skewShift = 14
const opShift = 16
const agoOne = 1 << agoShift
const agoMax = 62

export const entryOp = (entry: number): number => entry >> opShift
export const entryAgo = (entry: number): number => (entry >> agoShift) & 63
export const entryBatch = (entry: number): number => (entry >> batchShift) & 127
export const entrySkew = (entry: number): number => (entry >> skewShift) & 3
export const entryStarted = (entry: number): boolean => (entry & startedBit) !== 0

const pack = (op: number, ago: number, batch: number, skew: number): number =>
  (op << opShift) | (skew << skewShift) | (ago << agoShift) | (batch << batchShift)

/** A receive that waits for its consumption, or something that arrived and differs. */
export interface Note {
  readonly op: number
  readonly ago: number
  readonly batch: number
  readonly bits: number
}

/** The state of one rank. Never mutated after it has been numbered. */
export interface RankState {
  host: number
  flags: number
  /** How many sample calls this rank has missed: its own count lags behind the engine's. */
  skew: number
  rpc: number[]
  /** Outstanding device work and threads' work in launch order. */
  device: number[]
  /** Outstanding posts of the CPU transport in post order. */
  cpu: number[]
  /** Pending receives, oldest first; bits: 1 = its rows were freed. */
  slots: Note[]
  /** Arrived payloads that differ from what this rank expects; bits: `differs`. */
  inbox: Note[]
  /** Payloads that a sender sent ahead, in order for each channel and sender. */
  arrived: Arrival[]
  /** Buffers that have been released since they were last written. */
  released: string[]
}

/** A payload that was sent before its receiver asked for it (`eager`). */
export interface Arrival {
  readonly channel: number
  readonly from: number
  readonly signature: number
  /** Steps before the receiver's current one; negative while the sender is ahead of it. */
  readonly ago: number
  readonly batch: number
  readonly skew: number
}

/** In what an arrived payload differs from the receiver's own expectation. */
export const differs = { step: 1, payload: 2, hash: 4, requests: 8, rows: 16, seq: 32 } as const

/** What went wrong in a transition, beside the next state. */
export interface Finding {
  readonly property: PropertyId
  readonly text: string
}

export interface RankModel {
  readonly rank: number
  readonly program: RankProgram
  readonly table: MachineTable
  /** The events of the machine's table, in the order of their numbers. */
  readonly machineEvents: readonly RankEvent[]
  readonly operations: readonly CompiledOperation[]
  readonly streams: readonly string[]
  /** Channels in which this rank takes part (numbers of the world's list). */
  readonly channels: readonly number[]
  /** Rendezvous in which it takes part, same. */
  readonly meetings: readonly number[]
  readonly events: RankEvents
  readonly replies: boolean
  readonly initial: RankState
  /** A state as a compact string: equal states, equal strings. */
  readonly key: (state: RankState) => string
  /** The state of such a string, as fresh arrays. */
  readonly decode: (key: string) => RankState
  /** Bit mask of the events that this rank would take part in now. */
  readonly enabled: (state: RankState) => number
  /** The next state; findings are appended to `found`. */
  readonly apply: (
    state: RankState,
    event: number,
    found: Finding[],
    delivery?: Delivery,
  ) => RankState
  /** The same, changing a state that nobody else holds. */
  readonly change: RankModel['apply']
  readonly dispatch: (state: RankState, token: number) => RankState
  /** What this rank has at the head of a channel, for matching. */
  readonly head: (state: RankState, channel: number) => Head
  /** Nothing is asked of this rank and nothing is left to do: then it may as well be dead. */
  readonly isQuiet: (state: RankState) => boolean
  readonly awaitsRpc: (state: RankState) => boolean
  /** The hardware queue of each stream; −1: it has none, or none is shared. */
  readonly hardwareQueueOf: readonly number[]
  /** The rank whose eager payload an operation takes by itself; −1 where it is matched. */
  readonly arrivesFrom: (operation: CompiledOperation) => number
  /** The RPC ring towards this rank has no room: the engine blocks until it takes a call. */
  readonly isRpcFull: (state: RankState) => boolean
  /** Local operation index that the host stands at, or −1. */
  readonly standsAt: (state: RankState) => number
  /** The machine's event behind a transition of this rank, or none if only the device moved. */
  readonly machineEvent: (
    before: RankState,
    event: number,
    after: RankState,
  ) => RankEvent | undefined
}

/** The head of a channel on one rank: which operation, for which step relative to the engine. */
export interface Head {
  readonly signature: number
  /** Steps before the engine's next dispatch. */
  readonly back: number
  readonly skew: number
  readonly batch: number
  readonly op: number
}

/** What a match hands to a receiver: the bits in which it differs; or an eager arrival. */
export interface Delivery {
  readonly bits: number
  readonly text?: string
  readonly head?: Head
  /** The rank that an eager arrival comes from. */
  readonly from?: number
}

interface Context {
  readonly scenario: Scenario
  readonly batches: readonly Batch[]
  readonly channels: readonly Channel[]
  readonly meetings: readonly (readonly [number, number, string])[]
  readonly signatureOf: (rank: number, operation: TransferOperation, batch: number) => number
  readonly header: HeaderRules
}

/** The numbers of the machine's events in its table. */
export const machineEvents = (batchCount: number) => ({
  execute: 0,
  sample: batchCount,
  idle: batchCount + 1,
  proceed: batchCount + 2,
  mismatch: batchCount + 3,
  pollMiss: batchCount + 4,
  throws: batchCount + 5,
})

export const machineEventList = (batches: readonly Batch[]): RankEvent[] => [
  ...batches.map((batch) => ({ type: 'EXECUTE', batch }) as const),
  { type: 'SAMPLE' },
  { type: 'IDLE' },
  { type: 'PROCEED' },
  { type: 'HEADER_MISMATCH' },
  { type: 'POLL_MISS' },
  { type: 'THROW' },
]

/** Pure results, kept for the process: ranks of one role, and scenarios of one run, share them. */
const tables = new Map<string, MachineTable>()
const tablesMax = 1024

function tableOf(program: RankProgram, batches: readonly Batch[]): MachineTable {
  const key = JSON.stringify([program.execute, program.sample, program.idle, batches])
  const known = tables.get(key)
  if (known !== undefined) return known
  const table = internMachine(createRankMachine(program), machineEventList(batches))
  if (tables.size >= tablesMax) tables.clear()
  tables.set(key, table)
  return table
}

/** Compiles one rank of a scenario. */
export function createRankModel(rank: number, protocol: Protocol, context: Context): RankModel {
  const { scenario, batches, channels, meetings } = context
  const { pp } = scenario.topology
  const { residentCollectives, launchOrder, hardwareQueues, eager, moduleLoading } = scenario.device
  const program = programOf(protocol, rank, pp)
  const table = tableOf(program, batches)
  const { operations, streams } = compileOperations(rank, program, context)
  const myChannels = channels.filter((c) => c.members.includes(rank)).map((c) => c.index)
  const myMeetings = meetings.flatMap(([a, b], index) => (a === rank || b === rank ? [index] : []))
  const replies = operations.some((operation) => operation.kind === 'reply')
  const events = numberEvents(streams.length, myChannels.length, myMeetings.length)
  if (events.count > 31) {
    fail(
      'PPC205',
      `${protocol.name}: rank ${rank} uses ${streams.length} streams, ${myChannels.length} ` +
        `channels and ${myMeetings.length} rendezvous; together at most 21 fit`,
    )
  }
  const on = machineEvents(batches.length)
  const opAt = Int32Array.from(table.states, (state) => (state.meta['operation'] as number) ?? -1)
  const isFinal = table.states.map((state) => state.final)
  const awaitSample = table.states.map((state) => state.value === 'await-sample')
  const awaitExecute = table.states.map((state) => state.value === 'await-execute')
  const batchAt = Int32Array.from(table.states, (state) => batchNumber(state.context, batches))
  const slotDepth = pp
  const noneBits = 0
  const channelIndex = new Int32Array(channels.length).fill(-1)
  myChannels.forEach((channel, index) => {
    channelIndex[channel] = index
  })
  const meetingIndex = new Map(myMeetings.map((meeting, index) => [meeting, index]))
  const eagerOf = (channel: number): number => (channels[channel].device ? eager : 0)

  const firstIdle = program.execute.length + program.sample.length

  const step = (from: number, event: number): number => {
    const next = table.next[from * table.eventCount + event]
    assert(next >= 0, `rank ${rank}: ${table.states[from].value} does not accept event ${event}`)
    return next
  }

  const isOutstanding = (state: RankState, targets: readonly number[], ago: number): boolean => {
    for (const entry of state.device) {
      if (entryAgo(entry) === ago && targets.includes(entryOp(entry))) return true
    }
    for (const entry of state.cpu) {
      if (entryAgo(entry) === ago && targets.includes(entryOp(entry))) return true
    }
    return false
  }

  /** Was this work launched before a wait of the same rank? Later work of its name is not meant. */
  const isBefore = (entry: number, wait: number): boolean => {
    const launchedAgo = entryAgo(entry) - operations[entryOp(entry)].stepsAgo
    const waitsSince = entryAgo(wait)
    return (
      launchedAgo > waitsSince || (launchedAgo === waitsSince && entryOp(entry) < entryOp(wait))
    )
  }

  /** Does a wait that was launched on a stream still wait for something? */
  const holdsUp = (state: RankState, wait: number): boolean => {
    const { waitsFor, waitsAgo } = operations[entryOp(wait)]
    const ago = entryAgo(wait) + waitsAgo
    const isMeant = (entry: number): boolean =>
      entryAgo(entry) === ago && waitsFor.includes(entryOp(entry)) && isBefore(entry, wait)
    return state.device.some(isMeant) || state.cpu.some(isMeant)
  }

  /** Waits whose work is complete vanish at once, wherever they stand: an event stays recorded. */
  const settle = (state: RankState): void => {
    let again = true
    while (again) {
      again = false
      for (let i = 0; i < state.device.length; i++) {
        const entry = state.device[i]
        if (operations[entryOp(entry)].kind !== 'wait' || holdsUp(state, entry)) continue
        state.device.splice(i, 1)
        i--
        again = true
      }
    }
  }

  const residentCount = (state: RankState): number => {
    let count = 0
    for (const entry of state.device) count += entry & startedBit
    return count
  }

  /** May the collective at this position of the launch list take a place now (page 2.3)? */
  const mayStart = (state: RankState, position: number): boolean => {
    const operation = operations[entryOp(state.device[position])]
    if (residentCount(state) >= residentCollectives) return false
    for (let i = 0; i < position; i++) {
      const earlier = state.device[i]
      const other = operations[entryOp(earlier)]
      if (other.kind !== 'transfer') continue
      if (other.queue === operation.queue) return false
      if (launchOrder === 'serial') return false
      if (launchOrder === 'host-program' && !entryStarted(earlier)) return false
    }
    return true
  }

  /** Streams share queues round-robin; threads and the reply are no streams of the device. */
  const hardwareQueueOf = hardwareQueuesOf(streams, operations, hardwareQueues)

  /** False dependency: everything launched earlier into the same hardware queue has started. */
  const queueIsFree = (state: RankState, position: number): boolean => {
    const queue = hardwareQueueOf[operations[entryOp(state.device[position])].stream]
    if (queue < 0) return true
    for (let i = 0; i < position; i++) {
      const earlier = state.device[i]
      const { stream } = operations[entryOp(earlier)]
      if (hardwareQueueOf[stream] === queue && !entryStarted(earlier)) return false
    }
    return true
  }

  const enabled = (state: RankState): number => {
    if (state.flags & (flag.dead | flag.raised)) return 0
    let mask = (state.flags & flag.stalled) === 0 ? enabledOnHost(state) : 0
    let seen = 0
    for (let i = 0; i < state.device.length; i++) {
      const entry = state.device[i]
      const operation = operations[entryOp(entry)]
      const bit = 1 << operation.stream
      if (seen & bit) continue
      seen |= bit
      mask |= enabledOnStream(state, i, operation)
    }
    let queues = 0
    for (const entry of state.cpu) {
      const operation = operations[entryOp(entry)]
      if (queues & (1 << operation.queue)) continue
      queues |= 1 << operation.queue
      mask |= 1 << (events.match + channelIndex[operation.channel])
    }
    mask |= 1 << events.stall
    mask |= 1 << events.die
    if (awaitSample[state.host]) mask |= 1 << events.throws
    if ((state.flags & flag.draftStalled) === 0) mask |= 1 << events.draftStall
    const here = opAt[state.host]
    if (here >= 0 && isTransfer(operations[here].form)) mask |= 1 << events.twice
    return mask
  }

  /**
   * Launch queues are finite: with work of so many steps outstanding the host blocks in its next
   * call. Without this, a post that nobody ever matches would make endless runs infinite. A sound
   * protocol never comes near: what is outstanding is bounded by the window and by consumption.
   */
  const longestReach = Math.max(...operations.map((o) => Math.max(o.waitsAgo, o.stepsAgo)), pp)
  const queueDepth = Math.min(agoMax, scenario.topology.window + 2 * longestReach)
  const queueIsFull = (state: RankState): boolean =>
    state.device.some((entry) => entryAgo(entry) >= queueDepth) ||
    state.cpu.some((entry) => entryAgo(entry) >= queueDepth)

  const enabledOnHost = (state: RankState): number => {
    const yes = 1 << events.host
    if (awaitExecute[state.host]) return state.rpc.length > 0 && !queueIsFull(state) ? yes : 0
    if (awaitSample[state.host]) return yes
    const here = opAt[state.host]
    if (here < 0) return 0
    const operation = operations[here]
    const form = operation.form
    switch (form.do) {
      case 'host-wait':
      case 'check-header':
        return isOutstanding(state, operation.waitsFor, operation.waitsAgo) ? 0 : yes
      case 'poll':
        return isOutstanding(state, operation.waitsFor, operation.waitsAgo)
          ? 1 << events.pollMiss
          : yes
      case 'consume': {
        if (form.on !== 'host' || !hasSlot(state, operation.stepsAgo)) return yes
        return isOutstanding(state, operation.waitsFor, state.slots[0].ago) ? 0 : yes
      }
      case 'rendezvous':
        return 1 << (events.meet + (meetingIndex.get(operation.channel) ?? 0))
      case 'launch': {
        const loads =
          form.loadsModule === true &&
          moduleLoading === 'lazy' &&
          batches[batchAt[state.host]]?.firstUse === true
        return loads && residentCount(state) > 0 ? 0 : yes
      }
      default:
        return yes
    }
  }

  const enabledOnStream = (
    state: RankState,
    position: number,
    operation: CompiledOperation,
  ): number => {
    const entry = state.device[position]
    const moves = 1 << (events.move + operation.stream)
    switch (operation.kind) {
      case 'compute': {
        if (operation.isDraft && state.flags & flag.draftStalled) return 0
        if (!queueIsFree(state, position)) return 0
        const form = operation.form
        if (form.do === 'launch' && form.exclusive && residentCount(state) > 0) return 0
        return moves
      }
      case 'thread-post':
        return moves
      case 'consume':
        return isOutstanding(state, operation.waitsFor, entryAgo(entry)) ||
          !queueIsFree(state, position)
          ? 0
          : moves
      case 'reply':
        return holdsUp(state, entry) ? 0 : 1 << events.retire
      case 'transfer': {
        if (!entryStarted(entry)) {
          return mayStart(state, position) && queueIsFree(state, position) ? moves : 0
        }
        const channel = channelIndex[operation.channel]
        const from = arrivesFrom(operation)
        if (from < 0) return 1 << (events.match + channel)
        // With eager arrivals a receiver completes by itself once the root's payload is here.
        return arrivalOf(state, operation.channel, from) >= 0 ? 1 << (events.arrive + channel) : 0
      }
      default:
        return 0
    }
  }

  const isSource = (operation: CompiledOperation): boolean => {
    const form = operation.form
    if (form.do === 'send') return true
    return form.do === 'broadcast' && resolvePeer(form.root, rank, pp) === rank
  }

  /** The rank whose payload an operation takes by itself once it is here; −1: it is matched. */
  const arrivesFrom = ({ form, channel }: CompiledOperation): number => {
    if (eagerOf(channel) === 0) return -1
    const from =
      form.do === 'receive'
        ? resolvePeer(form.peer, rank, pp)
        : form.do === 'broadcast'
          ? resolvePeer(form.root, rank, pp)
          : undefined
    return from === undefined || from === rank ? -1 : from
  }

  const arrivalOf = (state: RankState, channel: number, from: number): number =>
    state.arrived.findIndex((arrival) => arrival.channel === channel && arrival.from === from)

  const hasSlot = (state: RankState, ago: number): boolean =>
    state.slots.length > 0 && state.slots[0].ago >= ago

  const copy = (state: RankState): RankState => ({
    ...state,
    rpc: state.rpc.slice(),
    device: state.device.slice(),
    cpu: state.cpu.slice(),
    slots: state.slots.slice(),
    inbox: state.inbox.slice(),
    arrived: state.arrived.slice(),
    released: state.released.slice(),
  })

  const apply = (
    from: RankState,
    event: number,
    found: Finding[],
    delivery?: Delivery,
  ): RankState => change(copy(from), event, found, delivery)

  /** The same, on a state that nobody else holds. */
  const change = (
    state: RankState,
    event: number,
    found: Finding[],
    delivery?: Delivery,
  ): RankState => {
    if (event === events.host) applyHost(state, found, false)
    else if (event === events.twice) applyHost(state, found, true)
    else if (event === events.pollMiss) state.host = step(state.host, on.pollMiss)
    else if (event === events.retire) completeHead(state, replyStream)
    else if (event === events.stall) state.flags |= flag.stalled
    else if (event === events.die) state.flags |= flag.dead
    else if (event === events.draftStall) state.flags |= flag.draftStalled
    else if (event === events.throws) {
      state.host = step(state.host, on.throws)
      state.skew = Math.min(3, state.skew + 1)
    } else if (event >= events.meet) applyHost(state, found, false)
    else if (event >= events.arrive) applyArrival(state, myChannels[event - events.arrive], found)
    else if (event >= events.match) {
      applyMatch(state, myChannels[event - events.match], found, delivery ?? { bits: noneBits })
    } else applyMove(state, event - events.move, found)
    settle(state)
    return state
  }

  const replyStream = streams.indexOf('reply')

  const headOfStream = (state: RankState, stream: number): number =>
    state.device.findIndex((entry) => operations[entryOp(entry)].stream === stream)

  const completeHead = (state: RankState, stream: number): number => {
    const position = headOfStream(state, stream)
    assert(position >= 0, `rank ${rank}: stream ${streams[stream]} is empty`)
    const [entry] = state.device.splice(position, 1)
    return entry
  }

  /** The head of a stream starts (a collective), completes (a kernel) or posts (a thread). */
  const applyMove = (state: RankState, stream: number, found: Finding[]): void => {
    const position = headOfStream(state, stream)
    const entry = state.device[position]
    const operation = operations[entryOp(entry)]
    if (operation.kind === 'transfer') {
      checkWrites(state, position, operation, found)
      state.device[position] = entry | startedBit
      return
    }
    state.device.splice(position, 1)
    if (operation.kind === 'thread-post') state.cpu.push(entry)
    else if (operation.kind === 'consume') adopt(state, entry, operation, found)
    else checkWrites(state, position, operation, found)
  }

  const applyHost = (state: RankState, found: Finding[], twice: boolean): void => {
    const local = state.host
    if (awaitExecute[local]) {
      takeRpc(state)
      return
    }
    if (awaitSample[local]) {
      state.host = step(local, on.sample)
      return
    }
    const operation = operations[opAt[local]]
    const form = operation.form
    if (form.do === 'check-header') {
      const bits = inboxBits(state, operation.waitsFor[0], 0)
      if (context.header.fails(operation.waitsFor[0], operations, bits)) {
        raiseAt(state, step(local, on.mismatch), found, bits)
        return
      }
    }
    if (form.do === 'raise') {
      state.host = step(local, on.proceed)
      state.flags |= flag.raised
      return
    }
    perform(state, operation, batchAt[local], found)
    if (twice) perform(state, operation, batchAt[local], found)
    state.host = step(local, on.proceed)
  }

  const raiseAt = (state: RankState, host: number, found: Finding[], bits: number): void => {
    state.host = host
    state.flags |= flag.raised
    if (bits & (differs.step | differs.payload | differs.rows | differs.requests)) return
    found.push({
      property: 'P5',
      text: `rank ${rank} raises although every rank is at the same step with the same batch`,
    })
  }

  const takeRpc = (state: RankState): void => {
    const token = state.rpc.shift()
    assert(token !== undefined, `rank ${rank}: no RPC to take`)
    if (token === rpcIdle) {
      state.host = step(state.host, on.idle)
      return
    }
    shift(state)
    if (token === rpcLost) {
      state.skew = Math.min(3, state.skew + 1)
      return
    }
    state.host = step(state.host, on.execute + token)
  }

  /** The rank's current step moves on by one: everything else is one step longer ago. */
  const shift = (state: RankState): void => {
    const older = (entry: number): number => {
      assert(entryAgo(entry) <= agoMax, `rank ${rank}: a full queue takes no call`)
      return entry + agoOne
    }
    state.device = state.device.map(older)
    state.cpu = state.cpu.map(older)
    state.slots = state.slots.map((note) => ({ ...note, ago: Math.min(agoMax, note.ago + 1) }))
    state.inbox = state.inbox
      .map((note) => ({ ...note, ago: note.ago + 1 }))
      .filter((note) => note.ago <= pp + 2)
    state.arrived = state.arrived.map((arrival) => ({
      ...arrival,
      ago: Math.min(agoMax + 1, arrival.ago + 1),
    }))
  }

  const perform = (
    state: RankState,
    operation: CompiledOperation,
    batch: number,
    found: Finding[],
  ): void => {
    const form = operation.form
    switch (form.do) {
      case 'launch':
      case 'broadcast':
      case 'collective':
      case 'send':
      case 'receive':
        launchWork(state, operation, batch, found)
        return
      case 'stream-wait':
      case 'reply':
        state.device.push(pack(operation.index, 0, Math.max(0, batch), 0))
        return
      case 'pend':
        state.slots.push({ op: -1, ago: 0, batch: Math.max(0, batch), bits: 0 })
        if (state.slots.length > slotDepth) {
          found.push({
            property: 'P7',
            text: `rank ${rank} has ${state.slots.length} pending receives, more than pp = ${pp}`,
          })
          state.slots.shift()
        }
        return
      case 'consume':
        takeSlot(state, operation, form.on === 'host', found)
        return
      case 'release':
        if (usesBuffer(state, form.buffer)) {
          found.push({
            property: 'P9',
            text: `rank ${rank} releases ${form.buffer} while outstanding work still uses it`,
          })
        }
        if (!state.released.includes(form.buffer)) {
          state.released = [...state.released, form.buffer].sort()
        }
        return
      case 'read':
        if (state.released.includes(form.buffer)) {
          found.push({
            property: 'P9',
            text: `the host of rank ${rank} reads ${form.buffer} after it was released`,
          })
        }
        return
      case 'free-rows':
        if (batches[batch]?.frees) {
          state.slots = state.slots.map((note) => ({ ...note, bits: 1 }))
        }
        return
      default:
        return
    }
  }

  const launchWork = (
    state: RankState,
    operation: CompiledOperation,
    batch: number,
    found: Finding[],
  ): void => {
    const form = operation.form
    let ago = 0
    let label = Math.max(0, batch)
    // Deferred posts, and whatever is posted at idle, belong to a step that has a pending slot.
    const isFlush = operation.index >= firstIdle && isTransfer(form)
    if (operation.stepsAgo > 0 || isFlush) {
      const slot = state.slots.find((note) => note.ago === operation.stepsAgo)
      if (slot === undefined) return
      ago = slot.ago
      label = slot.batch
    }
    if (form.do === 'broadcast' && form.header !== undefined && isSource(operation)) {
      const problem = context.header.unrepresentable(form, batches[label])
      if (problem !== undefined) {
        found.push({ property: 'P11', text: `rank ${rank}: ${problem}` })
      }
    }
    if ('writes' in form && form.writes !== undefined) {
      state.released = state.released.filter((buffer) => !form.writes?.includes(buffer))
    }
    const entry = pack(operation.index, ago, label, state.skew)
    if (operation.onCpu && !operation.thread) state.cpu.push(entry)
    else state.device.push(entry)
  }

  const usesBuffer = (state: RankState, buffer: string): boolean =>
    [...state.device, ...state.cpu].some((entry) => {
      const form = operations[entryOp(entry)].form
      return (
        ('reads' in form && form.reads?.includes(buffer)) ||
        ('writes' in form && form.writes?.includes(buffer))
      )
    })

  /** P9: work that writes a buffer begins while earlier launched work has not yet read it. */
  const checkWrites = (
    state: RankState,
    position: number,
    operation: CompiledOperation,
    found: Finding[],
  ): void => {
    const form = operation.form
    if (!('writes' in form) || form.writes === undefined) return
    const pending = [...state.device.slice(0, position), ...state.cpu]
    for (const entry of pending) {
      const reader = operations[entryOp(entry)].form
      if (!('reads' in reader) || reader.reads === undefined) continue
      const shared = reader.reads.find((buffer) => form.writes?.includes(buffer))
      if (shared === undefined) continue
      found.push({
        property: 'P9',
        text:
          `rank ${rank}: ${operation.name} writes ${shared} before ` +
          `${operations[entryOp(entry)].name} of an earlier step has read it`,
      })
      return
    }
  }

  const inboxBits = (state: RankState, op: number, ago: number): number =>
    state.inbox.find((note) => note.op === op && note.ago === ago)?.bits ?? 0

  const takeSlot = (
    state: RankState,
    operation: CompiledOperation,
    onHost: boolean,
    found: Finding[],
  ): void => {
    const ago = operation.stepsAgo
    if (!hasSlot(state, ago)) return
    const [slot] = state.slots.splice(0, 1)
    if (slot.ago !== pp) {
      found.push({
        property: 'P7',
        text: `rank ${rank} consumes a step ${slot.ago} steps later, not exactly pp = ${pp}`,
      })
    }
    const form = operation.form
    if (form.do === 'consume' && slot.bits === 1) {
      if (!form.generationCheck && form.adopts.length > 0) {
        found.push({
          property: 'P8',
          text: `rank ${rank} writes rows of ${slot.ago} steps ago that were freed since`,
        })
      }
      return
    }
    const entry = pack(operation.index, slot.ago, slot.batch, 0)
    if (onHost) adopt(state, entry, operation, found)
    else state.device.push(entry)
  }

  /** Validates (if the program does) and adopts what arrived for the step of this entry. */
  const adopt = (
    state: RankState,
    entry: number,
    operation: CompiledOperation,
    found: Finding[],
  ): void => {
    const form = operation.form
    assert(form.do === 'consume', 'only a consume adopts')
    const ago = entryAgo(entry)
    if (form.checks !== undefined) {
      for (const header of opsNamed(form.checks)) {
        if (isOutstanding(state, [header], ago)) {
          found.push({
            property: 'P5',
            text:
              `rank ${rank} validates ${form.checks} of ${ago} steps ago before it has arrived: ` +
              'it compares with what an earlier step left there',
          })
        }
        const bits = inboxBits(state, header, ago)
        if (!context.header.fails(header, operations, bits)) continue
        raiseAt(state, state.host, found, bits)
        return
      }
    }
    const batch = batches[entryBatch(entry)]
    for (const payload of payloadNames) {
      const adopted = form.adopts.includes(payload)
      const ops = opsNamed(payload)
      if (!adopted) {
        if (payload === 'counts' && ops.length > 0 && (batch?.rejected ?? 0) > 0) {
          found.push({
            property: 'P12',
            text: `rank ${rank} keeps the optimistic position although drafts were rejected`,
          })
        }
        continue
      }
      for (const op of ops) {
        if (isOutstanding(state, [op], ago)) {
          found.push({
            property: 'P3',
            text: `rank ${rank} adopts ${payload} of ${ago} steps ago before it has arrived`,
          })
          continue
        }
        const bits = inboxBits(state, op, ago)
        if ((bits & (differs.step | differs.payload | differs.rows)) === 0) continue
        found.push({
          property: payload === 'counts' ? 'P12' : 'P3',
          text: `rank ${rank} adopts ${payload} that was sent for ${differenceText(bits)}`,
        })
      }
    }
    state.inbox = state.inbox.filter((note) => note.ago !== ago)
  }

  const named = new Map<string, number[]>()
  for (const operation of operations) {
    if (!isTransfer(operation.form)) continue
    named.set(operation.name, [...(named.get(operation.name) ?? []), operation.index])
  }
  const opsNamed = (name: string): readonly number[] => named.get(name) ?? []
  const payloadNames = [...named.keys()].filter((name) =>
    opsNamed(name).some((op) => operations[op].form.do === 'broadcast'),
  )

  const queueHead = (state: RankState, channel: number): number => {
    const list = channels[channel].device ? state.device : state.cpu
    return list.findIndex((entry) => operations[entryOp(entry)].channel === channel)
  }

  const applyMatch = (
    state: RankState,
    channel: number,
    found: Finding[],
    delivery: Delivery,
  ): void => {
    if (delivery.head !== undefined) {
      const { signature, back, batch, skew } = delivery.head
      const { from = -1 } = delivery
      const ago = back - 1 - stepsQueued(state)
      // Senders do not wait for each other, so only the order of each one's payloads is kept.
      state.arrived = [...state.arrived, { channel, from, signature, ago, batch, skew }].sort(
        (a, b) => a.channel - b.channel || a.from - b.from,
      )
      return
    }
    finishTransfer(state, channel, delivery.bits, found)
  }

  const finishTransfer = (
    state: RankState,
    channel: number,
    bits: number,
    _found: Finding[],
  ): void => {
    const list = channels[channel].device ? state.device : state.cpu
    const position = queueHead(state, channel)
    assert(position >= 0, `rank ${rank}: nothing stands in channel ${channel}`)
    const [entry] = list.splice(position, 1)
    if (bits === 0 || isSource(operations[entryOp(entry)])) return
    const note = { op: entryOp(entry), ago: entryAgo(entry), batch: entryBatch(entry), bits }
    state.inbox = [...state.inbox, note].sort((a, b) => a.op - b.op || a.ago - b.ago)
  }

  /** An eager payload that has arrived is compared when the receiver takes it. */
  const applyArrival = (state: RankState, channel: number, found: Finding[]): void => {
    const mine = head(state, channel)
    const index = arrivalOf(state, channel, arrivesFrom(operations[mine.op]))
    const [{ signature, ago, batch, skew }] = state.arrived.splice(index, 1)
    const sent: Head = { signature, back: ago + 1 + stepsQueued(state), skew, batch, op: -1 }
    const outcome = context.header.compare(sent, mine)
    if (outcome.finding !== undefined) found.push(outcome.finding)
    finishTransfer(state, channel, outcome.bits, found)
  }

  const stepsQueued = (state: RankState): number => {
    let count = 0
    for (const token of state.rpc) if (token !== rpcIdle) count++
    return count
  }

  const head = (state: RankState, channel: number): Head => {
    const list = channels[channel].device ? state.device : state.cpu
    const entry = list[queueHead(state, channel)]
    const op = entryOp(entry)
    const batch = entryBatch(entry)
    return {
      signature: context.signatureOf(rank, operations[op].form as TransferOperation, batch),
      back: entryAgo(entry) + 1 + stepsQueued(state),
      skew: entrySkew(entry),
      batch,
      op,
    }
  }

  const buffers = buffersOf(operations)
  const codec = createRankCodec(buffers)

  const initial: RankState = {
    host: 0,
    flags: 0,
    skew: 0,
    rpc: [],
    device: [],
    cpu: [],
    slots: [],
    inbox: [],
    arrived: [],
    released: [],
  }

  const rpcRing = rpcRingOf(scenario)

  const awaitsRpc = (state: RankState): boolean =>
    awaitExecute[state.host] && state.rpc.length === 0

  return {
    rank,
    program,
    table,
    machineEvents: machineEventList(batches),
    operations,
    streams,
    channels: myChannels,
    meetings: myMeetings,
    events,
    replies,
    initial,
    key: codec.encode,
    decode: codec.decode,
    enabled,
    apply,
    change,
    dispatch: (from, token) => {
      const state = copy(from)
      if (token !== rpcIdle || program.idle.length > 0) state.rpc.push(token)
      return state
    },
    head,
    isQuiet: (state) =>
      awaitsRpc(state) &&
      state.device.length === 0 &&
      state.cpu.length === 0 &&
      state.arrived.length === 0,
    awaitsRpc,
    hardwareQueueOf,
    arrivesFrom,
    isRpcFull: (state) => stepsQueued(state) >= rpcRing,
    standsAt: (state) => (isFinal[state.host] ? -1 : opAt[state.host]),
    machineEvent: (before, event, after) => {
      if (event === events.pollMiss) return { type: 'POLL_MISS' }
      if (event === events.throws) return { type: 'THROW' }
      const isHost = event === events.host || event === events.twice || event >= events.meet
      if (!isHost) return undefined
      if (awaitSample[before.host]) return { type: 'SAMPLE' }
      if (awaitExecute[before.host]) {
        const token = before.rpc[0]
        if (token === rpcLost) return undefined
        return token === rpcIdle ? { type: 'IDLE' } : { type: 'EXECUTE', batch: batches[token] }
      }
      const form = operations[opAt[before.host]].form
      const failed = form.do === 'check-header' && (after.flags & flag.raised) !== 0
      return { type: failed ? 'HEADER_MISMATCH' : 'PROCEED' }
    },
  }
}

/** The bits of a difference in words. */
export function differenceText(bits: number): string {
  const words: string[] = []
  if (bits & differs.step) words.push('another step')
  if (bits & differs.payload) words.push('another payload')
  if (bits & differs.rows) words.push('other rows')
  if (bits & differs.requests) words.push('another number of requests')
  return words.join(' and ') || 'the same step'
}

function hardwareQueuesOf(
  streams: readonly string[],
  operations: readonly CompiledOperation[],
  queueCount: number,
): readonly number[] {
  const threads = operations.flatMap(({ form }) => (isTransfer(form) ? [form.thread] : []))
  let created = 0
  return streams.map((stream) =>
    queueCount === 0 || stream === 'reply' || threads.includes(stream)
      ? -1
      : created++ % queueCount,
  )
}

function batchNumber(context: unknown, batches: readonly Batch[]): number {
  const { batch } = context as { batch: Batch }
  return batches.findIndex((known) => JSON.stringify(known) === JSON.stringify(batch))
}
