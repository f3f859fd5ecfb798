// Every thing that a rank's host thread can ask for, as data. Nothing here performs anything: the
// simulator, the replay and the live workers are three interpreters of the same values.

/** A FIFO of a rank's device (CUDA stream), or a host thread of its own that works off a queue. */
export type StreamName =
  | 'main'
  | 'broadcast'
  | 'activation-receive'
  | 'activation-send'
  | 'copy'
  | 'sender'
  | (string & {})

/** Element type on the wire. Sizes in bytes: int64 8, int32 4, bfloat16 2. */
export type Dtype = 'int64' | 'int32' | 'bfloat16'

/** One dimension of a payload: a constant, R (requests), K (drafts a step) or K + 1. */
export type Dimension = number | 'R' | 'K' | 'K+1'

/** How many steps back an operation refers to; `pp` is the pipeline size of the scenario. */
export type StepsAgo = number | 'pp'

/** Points at work that this rank launched or posted: the operation's name and how long ago. */
export interface WorkReference {
  readonly operation: string
  readonly stepsAgo: StepsAgo
}

/**
 * What a rank's own batch of the current step must say for an operation to be performed. `tokens`
 * fails on an empty step: one that the engine sends with nothing scheduled, `execute` only.
 */
export type Fact =
  | 'mask'
  | 'no-mask'
  | 'proposal'
  | 'no-proposal'
  | 'first-use'
  | 'not-first-use'
  | 'tokens'
  | 'no-tokens'

/** Whom a point-to-point operation or a rendezvous is with. */
export type Peer = 'previous' | 'next' | 'first' | 'last' | number

interface Guarded {
  /** All facts must hold in the rank's own batch; otherwise the operation is passed over. */
  readonly when?: readonly Fact[]
}

interface TouchesBuffers {
  /** Buffers that live longer than a step and that this operation reads until it completes. */
  readonly reads?: readonly string[]
  /** Buffers that live longer than a step and that this operation writes until it completes. */
  readonly writes?: readonly string[]
}

/** Launches a compute kernel, or a captured graph, on a stream. Never blocks the host. */
export interface Launch extends Guarded, TouchesBuffers {
  readonly do: 'launch'
  readonly name: string
  readonly stream: StreamName
  /** A full CUDA graph: starts only while no collective is resident on its device (page 2.3). */
  readonly exclusive?: boolean
  /** First use of the kernel: with lazy module loading the host waits for an idle device. */
  readonly loadsModule?: boolean
}

interface Transfer extends Guarded, TouchesBuffers {
  readonly name: string
  readonly communicator: string
  /** Device stream, or `cpu` for a CPU transport (Gloo-like), which needs no residency. */
  readonly stream: StreamName | 'cpu'
  readonly dtype: Dtype
  readonly shape: readonly Dimension[]
  /** Posts the payload of an earlier step (deferred receive) if that step has a pending slot. */
  readonly stepsAgo?: StepsAgo
  /** The thread that posts it; by default the host. A thread of its own works in FIFO order. */
  readonly thread?: StreamName
}

/** A broadcast over all members of a communicator. */
export interface Broadcast extends Transfer {
  readonly do: 'broadcast'
  readonly root: Peer
  /** Set on a header: the fields that it carries, the int type of each, and who counts how. */
  readonly header?: HeaderForm
}

/** What a header carries and when its sender or receiver advances the sequence number. */
export interface HeaderForm {
  readonly fields: readonly ('seq' | 'mask_hash' | 'num_reqs' | 'row_digest')[]
  readonly sequence: 'before-enqueue' | 'after-enqueue'
}

/** Any other collective in which every member takes part (an all-reduce, an expert rebalance). */
export interface AllCollective extends Transfer {
  readonly do: 'collective'
}

export interface Send extends Transfer {
  readonly do: 'send'
  readonly peer: Peer
}

export interface Receive extends Transfer {
  readonly do: 'receive'
  readonly peer: Peer
}

/** Makes a stream (or a thread) wait until the referenced work is complete; the host goes on. */
export interface StreamWait extends Guarded {
  readonly do: 'stream-wait'
  readonly stream: StreamName
  readonly for: WorkReference
}

/** Blocks the host thread until the referenced work is complete. */
export interface HostWait extends Guarded {
  readonly do: 'host-wait'
  readonly for: WorkReference
}

/** Blocks the host thread like a host wait, but by testing again and again (a busy loop). */
export interface Poll extends Guarded {
  readonly do: 'poll'
  readonly for: WorkReference
}

/** Both hosts must be here for either to go on (Gloo object send/receive of metadata). */
export interface Rendezvous extends Guarded {
  readonly do: 'rendezvous'
  readonly name: string
  readonly peer: Peer
}

/** From here on the engine's reply for this step is possible once the work is complete. */
export interface Reply extends Guarded {
  readonly do: 'reply'
  readonly after: WorkReference
}

/** Remembers that receives of this step are pending (a slot of the rank's FIFO). */
export interface Pend extends Guarded {
  readonly do: 'pend'
}

/** Takes what an earlier step received: waits for it, checks it, and adopts it. */
export interface Consume extends Guarded {
  readonly do: 'consume'
  /** `host` blocks the host thread; a stream name makes that stream wait. */
  readonly on: 'host' | StreamName
  readonly stepsAgo: StepsAgo
  /** The work that must be complete: the last receive of the step. */
  readonly after: string
  /** Payloads that are adopted. Leaving `counts` out keeps the optimistic position. */
  readonly adopts: readonly string[]
  /** Name of the header that is validated before anything is adopted, if it is checked here. */
  readonly checks?: string
  /** Rows freed since the receive write nothing (the generation counter of Model Runner V2). */
  readonly generationCheck: boolean
}

/** The host reads a header that has arrived and raises if a field is not what it expected. */
export interface CheckHeader extends Guarded {
  readonly do: 'check-header'
  readonly header: string
}

/** Hands a buffer back to the allocator. */
export interface Release extends Guarded {
  readonly do: 'release'
  readonly buffer: string
}

/** The host reads a buffer (a blocking device-to-host copy that has finished). */
export interface ReadBuffer extends Guarded {
  readonly do: 'read'
  readonly buffer: string
}

/** Applies the frees that the scheduler announced with this step: rows change their owner. */
export interface FreeRows extends Guarded {
  readonly do: 'free-rows'
}

/** The rank raises on purpose (an assertion of the engine). */
export interface Raise extends Guarded {
  readonly do: 'raise'
  readonly why: string
}

/** The union of all operations. */
export type Operation =
  | Launch
  | Broadcast
  | AllCollective
  | Send
  | Receive
  | StreamWait
  | HostWait
  | Poll
  | Rendezvous
  | Reply
  | Pend
  | Consume
  | CheckHeader
  | Release
  | ReadBuffer
  | FreeRows
  | Raise

/** Operations that move data between ranks. */
export type TransferOperation = Broadcast | AllCollective | Send | Receive

export const isTransfer = (operation: Operation): operation is TransferOperation =>
  operation.do === 'broadcast' ||
  operation.do === 'collective' ||
  operation.do === 'send' ||
  operation.do === 'receive'

/** Points at work of this step, or of an earlier one: `done('forward')`, `done('drafts', 'pp')`. */
export const done = (operation: string, stepsAgo: StepsAgo = 0): WorkReference => ({
  operation,
  stepsAgo,
})

// The builders below make a program read like the engine's source. They only fill in `do`.
type Rest<T extends Operation> = Omit<T, 'do' | 'name'>

export const launch = (name: string, rest: Rest<Launch>): Launch => ({
  do: 'launch',
  name,
  ...rest,
})
export const broadcast = (name: string, rest: Rest<Broadcast>): Broadcast => ({
  do: 'broadcast',
  name,
  ...rest,
})
export const collective = (name: string, rest: Rest<AllCollective>): AllCollective => ({
  do: 'collective',
  name,
  ...rest,
})
export const send = (name: string, rest: Rest<Send>): Send => ({ do: 'send', name, ...rest })
export const receive = (name: string, rest: Rest<Receive>): Receive => ({
  do: 'receive',
  name,
  ...rest,
})
export const streamWait = (stream: StreamName, work: WorkReference): StreamWait => ({
  do: 'stream-wait',
  stream,
  for: work,
})
export const hostWait = (work: WorkReference): HostWait => ({ do: 'host-wait', for: work })
export const poll = (work: WorkReference): Poll => ({ do: 'poll', for: work })
export const rendezvous = (name: string, peer: Peer): Rendezvous => ({
  do: 'rendezvous',
  name,
  peer,
})
export const reply = (after: WorkReference): Reply => ({ do: 'reply', after })
export const pend = (): Pend => ({ do: 'pend' })
export const consume = (rest: Omit<Consume, 'do'>): Consume => ({ do: 'consume', ...rest })
export const checkHeader = (header: string): CheckHeader => ({ do: 'check-header', header })
export const release = (buffer: string): Release => ({ do: 'release', buffer })
export const readBuffer = (buffer: string): ReadBuffer => ({ do: 'read', buffer })
export const freeRows = (): FreeRows => ({ do: 'free-rows' })
export const raise = (why: string): Raise => ({ do: 'raise', why })

/** Adds a guard to an operation: `when(['mask'], broadcast(...))`. */
export const when = <T extends Operation>(facts: readonly Fact[], operation: T): T => ({
  ...operation,
  when: [...(operation.when ?? []), ...facts],
})

/** The operation in a few words, as stories, tables and pictures print it. */
export function describe(operation: Operation): string {
  switch (operation.do) {
    case 'launch':
      return `launch ${operation.name}${operation.exclusive ? ' (full graph)' : ''}`
    case 'broadcast':
    case 'collective':
      return `post ${operation.name}${operation.thread ? ` (by ${operation.thread})` : ''}`
    case 'send':
    case 'receive':
      return `post ${operation.name} (${operation.peer})`
    case 'stream-wait':
      return `${operation.stream} waits ${describeWork(operation.for)}`
    case 'host-wait':
      return `host waits ${describeWork(operation.for)}`
    case 'poll':
      return `host polls ${describeWork(operation.for)}`
    case 'rendezvous':
      return `rendezvous ${operation.name} (${operation.peer})`
    case 'reply':
      return `reply after ${describeWork(operation.after)}`
    case 'pend':
      return 'keep the pending receive'
    case 'consume':
      return `consume on ${operation.on} (${operation.stepsAgo} steps ago)`
    case 'check-header':
      return `check ${operation.header}`
    case 'release':
      return `release ${operation.buffer}`
    case 'read':
      return `read ${operation.buffer}`
    case 'free-rows':
      return 'apply frees'
    case 'raise':
      return `raise: ${operation.why}`
  }
}

const describeWork = (work: WorkReference): string =>
  work.stepsAgo === 0 ? work.operation : `${work.operation} of ${work.stepsAgo} steps ago`
