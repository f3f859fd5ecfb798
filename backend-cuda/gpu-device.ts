// One rank's device as streams of work. Everything is only enqueued here; the addon's issuing
// thread performs it in order, and completion comes back as tokens. A step's commands travel
// together.

import { fail, PpcheckError } from '../spec/error.ts'
import type { GpuFailure, GpuLibraries, Handle, Notice } from './cuda-addon.ts'

/** The order of `Command::Kind` in native/cuda/device.h. */
const commandKinds = [
  'spin-for',
  'spin-until',
  'launch-graph',
  'record',
  'wait',
  'broadcast',
  'send',
  'receive',
  'upload',
  'download',
  'fill',
  'verify',
  'watch',
  'group-start',
  'group-end',
] as const
type CommandKind = (typeof commandKinds)[number]

/** Numbers a command: the kind, up to six fields, and the step that it belongs to. */
const commandWidth = 8
const commandsMax = 512
const eventsMax = 2048

/** Something enqueued whose completion can be waited for. */
export interface Work {
  /** What it is, for reports: `drafts of step 7`. */
  readonly label: string
  readonly stream: number
  isDone: boolean
  /** Event that completes with it; free for other work afterwards. */
  readonly event: number
  waiters: (() => void)[] | undefined
}

export interface DeviceBuffer {
  readonly index: number
  readonly bytes: number
  /** Pinned host memory of the same size. */
  readonly host: Uint8Array
  /** Words that a verification found wrong, since the device was opened. */
  readonly wrong: Uint32Array
}

export interface GpuDeviceOptions {
  readonly ordinal: number
  readonly rank: number
  readonly streams: readonly string[]
  /** For each graph the durations of its kernels in ns. */
  readonly graphsNs?: readonly (readonly number[])[]
}

/** A failure of a call, in one line. */
export const failureText = (failure: GpuFailure): string => {
  const where = [
    ...(failure.communicator >= 0 ? [`communicator ${failure.communicator}`] : []),
    ...(failure.step >= 0 ? [`step ${failure.step}`] : []),
  ]
  const place = where.length > 0 ? `, ${where.join(', ')}` : ''
  return `${failure.call} says ${failure.result} on rank ${failure.rank}${place}`
}

export class GpuDevice {
  /** Called once, when a call has failed: nothing more will complete. */
  onFailure: (failure: GpuFailure) => void = () => {}
  step = 0

  private readonly libraries: GpuLibraries
  private readonly handle: Handle
  private readonly names: readonly string[]
  private readonly commands = new Float64Array(commandWidth * commandsMax)
  private count = 0
  private readonly freeEvents = Array.from({ length: eventsMax }, (_, event) => event)
  private readonly pending = new Map<number, Work>()
  private readonly ready = new Set<number>()
  private readonly changes = new Set<() => void>()
  private nextToken = 0
  private isAborted = false
  private isClosed = false
  private failure: GpuFailure | undefined

  /** @throws PpcheckError PPC424 if the device cannot be opened */
  constructor(libraries: GpuLibraries, options: GpuDeviceOptions) {
    this.libraries = libraries
    this.names = options.streams
    const { ordinal, rank, graphsNs = [] } = options
    const streams = options.streams.length
    this.handle = translated(() =>
      libraries.addon.open(
        libraries.handle,
        { ordinal, rank, streams, events: eventsMax, graphsNs },
        (tokens, notices) => this.take(tokens, notices),
      ),
    )
  }

  streamOf(name: string): number {
    const stream = this.names.indexOf(name)
    if (stream < 0) fail('PPC424', `this device has no stream ${name}`)
    return stream
  }

  // ------------------------------------------------------------------------------- enqueueing

  spinFor(stream: number, ns: number): void {
    this.push('spin-for', stream, ns, 1, 32)
  }

  /** Spins until word 1 of the buffer is set; its blocks count themselves in word 0. */
  spinUntil(stream: number, flag: DeviceBuffer, shape: { blocks: number; threads: number }): void {
    this.push('spin-until', stream, flag.index, shape.blocks, shape.threads)
  }

  launchGraph(stream: number, graph: number): void {
    this.push('launch-graph', stream, graph)
  }

  fill(stream: number, buffer: DeviceBuffer, words: number, key: number): void {
    this.push('fill', stream, buffer.index, words, key)
  }

  verify(stream: number, buffer: DeviceBuffer, words: number, key: number): void {
    this.push('verify', stream, buffer.index, words, key)
  }

  upload(stream: number, buffer: DeviceBuffer, bytes: number): void {
    this.push('upload', stream, buffer.index, bytes)
  }

  download(stream: number, buffer: DeviceBuffer, bytes: number): void {
    this.push('download', stream, buffer.index, bytes)
  }

  /** In place: the root's buffer is sent, the others' are written. */
  transfer(
    kind: 'broadcast' | 'send' | 'receive',
    stream: number,
    to: { communicator: number; buffer: DeviceBuffer; bytes: number; peer: number },
  ): void {
    this.push(kind, stream, to.communicator, to.buffer.index, to.bytes, to.peer)
  }

  /** Calls of several communicators or peers that may only begin together. */
  grouped(calls: () => void): void {
    this.push('group-start')
    calls()
    this.push('group-end')
  }

  /** Marks the place in the stream: done when everything before it is. */
  mark(stream: number, label: string): Work {
    const event = this.freeEvents.pop()
    if (event === undefined) fail('PPC424', `more than ${eventsMax} works are unfinished`)
    const work: Work = { label, stream, event, isDone: false, waiters: undefined }
    const token = this.nextToken++
    this.pending.set(token, work)
    this.push('record', stream, event)
    this.push('watch', stream, event, token)
    return work
  }

  /** Makes the stream wait. Work that is known to be done holds nothing up. */
  wait(stream: number, work: Work): void {
    if (!work.isDone) this.push('wait', stream, work.event)
  }

  /** Hands everything over that was enqueued since the last time. */
  flush(): void {
    if (this.count === 0 || this.isClosed) return
    this.libraries.addon.submit(this.handle, this.commands, this.count)
    this.count = 0
  }

  // --------------------------------------------------------------------------------- waiting

  /** Resolves when the work is done; never if the device fails or is aborted before. */
  done(work: Work): Promise<void> {
    if (work.isDone) return Promise.resolve()
    this.flush()
    return new Promise((resolve) => {
      work.waiters ??= []
      work.waiters.push(resolve)
    })
  }

  /** The oldest unfinished work of each stream that has one. */
  heads(): { stream: string; label: string }[] {
    const heads = new Map<number, Work>()
    for (const work of this.pending.values()) {
      if (!heads.has(work.stream)) heads.set(work.stream, work)
    }
    return [...heads.values()].map(({ stream, label }) => ({ stream: this.names[stream], label }))
  }

  unfinished(): string[] {
    return [...this.pending.values()].map(({ label }) => label)
  }

  // ------------------------------------------------------------------- memory, communicators

  createBuffer(bytes: number): DeviceBuffer {
    const padded = Math.ceil(bytes / 4) * 4
    const { index, memory } = translated(() =>
      this.libraries.addon.createBuffer(this.handle, padded),
    )
    const host = new Uint8Array(memory, 0, padded)
    return { index, bytes: padded, host, wrong: new Uint32Array(memory, padded, 1) }
  }

  initCommunicator(id: Buffer, ranks: number, rank: number): number {
    return this.libraries.addon.initCommunicator(this.handle, id, ranks, rank)
  }

  /** A communicator of the same members, or undefined where this NCCL cannot split. */
  splitCommunicator(parent: number, rank: number): number | undefined {
    const number = this.libraries.addon.splitCommunicator(this.handle, parent, rank)
    return number < 0 ? undefined : number
  }

  /** Resolves when all members have joined. */
  async communicatorReady(number: number): Promise<void> {
    await this.until(() => this.ready.has(number))
  }

  // -------------------------------------------------------------------------------- the end

  /** Ends every collective of this rank at once; peers must be told by other means. */
  async abort(): Promise<void> {
    if (!this.isAborted && !this.isClosed) this.libraries.addon.abort(this.handle)
    await this.until(() => this.isAborted || this.isClosed)
  }

  /** Ordered teardown. Buffers must not be touched any more. */
  async close(): Promise<void> {
    if (this.isClosed) return
    this.flush()
    this.libraries.addon.close(this.handle)
    await this.until(() => this.isClosed)
  }

  private async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => this.changes.add(resolve))
    }
  }

  private push(kind: CommandKind, a = 0, b = 0, c = 0, d = 0, e = 0): void {
    if (this.count === commandsMax) this.flush()
    const at = this.count * commandWidth
    this.commands[at] = commandKinds.indexOf(kind)
    this.commands[at + 1] = a
    this.commands[at + 2] = b
    this.commands[at + 3] = c
    this.commands[at + 4] = d
    this.commands[at + 5] = e
    this.commands[at + 7] = this.step
    this.count++
  }

  private take(tokens: readonly number[], notices: readonly Notice[]): void {
    for (const token of tokens) {
      const work = this.pending.get(token)
      if (work === undefined) continue
      this.pending.delete(token)
      work.isDone = true
      this.freeEvents.push(work.event)
      const { waiters } = work
      work.waiters = undefined
      if (waiters !== undefined) for (const resolve of waiters) resolve()
    }
    for (const { kind, token, failure } of notices) {
      if (kind === 'communicator-ready') this.ready.add(token)
      if (kind === 'aborted') this.isAborted = true
      if (kind === 'closed') this.isClosed = true
      if (kind === 'failed' && failure !== undefined && this.failure === undefined) {
        this.failure = failure
        this.onFailure(failure)
      }
    }
    if (notices.length === 0) return
    const waiting = [...this.changes]
    this.changes.clear()
    for (const resolve of waiting) resolve()
  }
}

/** Runs a call of the addon; what it throws becomes PPC424 with call, result and rank. */
function translated<Result>(call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    if (error instanceof PpcheckError) throw error
    const { failure } = error as { failure?: GpuFailure }
    return fail('PPC424', failure === undefined ? String(error) : failureText(failure))
  }
}
