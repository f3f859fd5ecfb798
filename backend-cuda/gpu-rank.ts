// Performs what a rank's program asks for on a GPU: kernels and NCCL transfers on the streams of
// its device, token payloads on a CPU transport where the variant says so. Third interpreter of
// the same effects, beside the simulator and its replay.

import type { Batch } from '../spec/batch.ts'
import { fail } from '../spec/error.ts'
import type { Broadcast, Consume, Operation, TransferOperation } from '../spec/operation.ts'
import { isTransfer } from '../spec/operation.ts'
import type { Protocol } from '../spec/program.ts'
import { resolvePeer, resolveSteps } from '../spec/resolve-program.ts'
import { communicatorKey } from './communicators.ts'
import type { DeviceBuffer, GpuDevice, Work } from './gpu-device.ts'
import {
  encodedHeader,
  headerOf,
  headerProblem,
  type PayloadSizes,
  payloadBytes,
  payloadNumber,
  tokenProblem,
  writeTokens,
} from './payloads.ts'
import type { TokenLine } from './token-line.ts'
import { payloadKey } from './token-words.ts'

export interface GpuRankOptions extends PayloadSizes {
  readonly protocol: Protocol
  readonly rank: number
  readonly pp: number
  readonly window: number
  readonly seed: number
  /** Kernel times in ns. */
  readonly forwardNs: number
  readonly sampleNs: number
  readonly draftNs: number
  /** The batches that may come, for the sizes of buffers. */
  readonly batches: readonly Batch[]
}

/** Work of a host thread or of the CPU transport. */
interface CpuWork {
  readonly label: string
  isDone: boolean
  readonly done: Promise<void>
  /** What was received. */
  bytes?: Uint8Array
}

type AnyWork = { readonly kind: 'device'; readonly work: Work } | { kind: 'cpu'; work: CpuWork }

export interface Tally {
  /** Payloads that were verified word by word when they were adopted. */
  adopted: number
  bytes: number
  transfers: number
}

export class GpuRank {
  /** Set by the worker. */
  reply: (step: number) => void = () => {}
  raise: (reason: string) => void = () => {}
  meet: (name: string, peer: number, step: number) => Promise<void> = () => Promise.resolve()

  step = -1
  readonly tally: Tally = { adopted: 0, bytes: 0, transfers: 0 }
  private readonly options: GpuRankOptions
  private readonly device: GpuDevice
  private readonly tokens: TokenLine | undefined
  private readonly communicators: ReadonlyMap<string, number>
  private readonly works = new Map<string, AnyWork>()
  private readonly batches = new Map<number, Batch>()
  private readonly slots: number[] = []
  private readonly forms: ReadonlyMap<string, TransferOperation>
  private readonly rings = new Map<string, DeviceBuffer[]>()
  private readonly threads = new Map<string, Promise<void>>()
  private readonly waiting = new Set<string>()
  private readonly ringSize: number

  constructor(
    options: GpuRankOptions,
    device: GpuDevice,
    tokens: TokenLine | undefined,
    communicators: ReadonlyMap<string, number>,
  ) {
    this.options = options
    this.device = device
    this.tokens = tokens
    this.communicators = communicators
    const { last, others, first } = options.protocol.roles
    const all = [last, others, ...(first === undefined ? [] : [first])]
      .flatMap((role) => [...role.execute, ...role.sample, ...(role.idle ?? [])])
      .filter(isTransfer)
    // Roles may name alike; the first says what a payload looks like, as matching demands anyway.
    this.forms = new Map([...all].reverse().map((form) => [form.name, form]))
    // Steps in flight, and those received but not consumed: no buffer is in use longer.
    this.ringSize = options.window + options.pp + 2
  }

  /** Allocates a transfer's buffers before the run: an allocation may wait for the device. */
  prepare(form: TransferOperation): void {
    if (form.stream === 'cpu' || this.rings.has(form.name)) return
    const { batches } = this.options
    const bytes = Math.max(...batches.map((batch) => payloadBytes(form, batch, this.options)))
    const ring = Array.from({ length: this.ringSize }, () => this.device.createBuffer(bytes))
    this.rings.set(form.name, ring)
  }

  beginStep(step: number, batch: Batch): void {
    this.step = step
    this.device.step = step
    this.batches.set(step, batch)
    const oldest = step - this.ringSize
    this.batches.delete(oldest)
    for (const [key, { work }] of this.works) {
      if (Number(key.slice(key.lastIndexOf('/') + 1)) > oldest) break
      if (work.isDone) this.works.delete(key)
    }
  }

  // ------------------------------------------------------------------------------ host waits

  /** What the host must wait for before it goes on; undefined if nothing. */
  ready(form: Operation): Promise<void> | undefined {
    switch (form.do) {
      case 'host-wait':
      case 'poll':
        return this.arrival(form.for.operation, this.stepOf(form.for.stepsAgo))
      case 'check-header':
        return this.arrival(form.header, this.step)
      case 'consume': {
        const step = this.stepOf(form.stepsAgo)
        if (form.on !== 'host' || this.slots[0] !== step) return undefined
        return this.arrival(form.after, step)
      }
      case 'rendezvous': {
        const peer = resolvePeer(form.peer, this.options.rank, this.options.pp)
        return peer === undefined ? undefined : this.meet(form.name, peer, this.step)
      }
      default:
        return undefined
    }
  }

  /** The check of a header that has arrived: what is wrong with it, or undefined. */
  checkHeader(name: string, step = this.step): string | undefined {
    const form = this.form(name)
    const bytes = this.received(name, step)
    const batch = this.batches.get(step)
    if (bytes === undefined || batch === undefined || form.do !== 'broadcast') return undefined
    return headerProblem(form, bytes, headerOf(step, batch))
  }

  // --------------------------------------------------------------------------------- effects

  perform(form: Operation): void {
    if (isTransfer(form)) {
      this.transfer(form)
      return
    }
    switch (form.do) {
      case 'launch': {
        const stream = this.device.streamOf(form.stream)
        if (form.exclusive === true) this.device.launchGraph(stream, 0)
        else this.device.spinFor(stream, this.durationOf(form.name))
        this.enqueued(form.name, this.step, stream)
        return
      }
      case 'stream-wait':
        this.streamWait(form.stream, form.for.operation, this.stepOf(form.for.stepsAgo))
        return
      case 'reply': {
        const step = this.step
        const done = this.arrival(form.after.operation, this.stepOf(form.after.stepsAgo))
        if (done === undefined) {
          this.reply(step)
          return
        }
        void done.then(() => this.reply(step))
        return
      }
      case 'pend':
        this.slots.push(this.step)
        return
      case 'consume':
        this.consume(form)
        return
      default:
        // Rows, buffers and rendezvous have no counterpart that a device would have to perform.
        return
    }
  }

  /** Everything that this rank has asked for and that is not done. */
  unfinished(): string[] {
    return [...this.device.unfinished(), ...this.waiting]
  }

  /** Words that the kernels found wrong in received activations. */
  wrongWords(): number {
    let count = 0
    for (const ring of this.rings.values()) for (const { wrong } of ring) count += wrong[0]
    return count
  }

  /** Resolves when nothing is left on any stream or thread. */
  async drained(): Promise<void> {
    for (const chain of this.threads.values()) await chain
    for (const any of this.works.values()) {
      if (any.kind === 'device') await this.device.done(any.work)
      else await any.work.done
    }
  }

  private stepOf(stepsAgo: number | 'pp'): number {
    return this.step - resolveSteps(stepsAgo, this.options.pp)
  }

  private durationOf(name: string): number {
    const { forwardNs, sampleNs, draftNs } = this.options
    if (name === 'draft') return draftNs
    return name === 'sample' ? sampleNs : forwardNs
  }

  private form(name: string): TransferOperation {
    const found = this.forms.get(name)
    return found ?? fail('PPC201', `no transfer is named ${name}`)
  }

  private arrival(name: string, step: number): Promise<void> | undefined {
    const any = this.works.get(`${name}/${step}`)
    if (any === undefined || any.work.isDone) return undefined
    return any.kind === 'device' ? this.device.done(any.work) : any.work.done
  }

  private enqueued(name: string, step: number, stream: number): void {
    const work = this.device.mark(stream, `${name} of step ${step}`)
    this.works.set(`${name}/${step}`, { kind: 'device', work })
  }

  private streamWait(stream: string, name: string, step: number): void {
    const any = this.works.get(`${name}/${step}`)
    if (any === undefined) return
    if (this.isThread(stream)) {
      const done = this.arrival(name, step)
      if (done !== undefined) this.onThread(stream, () => done)
      return
    }
    if (any.kind === 'device') {
      this.device.wait(this.device.streamOf(stream), any.work)
      return
    }
    if (any.work.isDone) return
    fail('PPC424', `stream ${stream} cannot wait for ${any.work.label}, which is not on the device`)
  }

  // ------------------------------------------------------------------------------- transfers

  private isThread(stream: string): boolean {
    return this.threads.has(stream) || stream === 'sender'
  }

  private onThread(thread: string, act: () => Promise<void> | void): void {
    const before = this.threads.get(thread) ?? Promise.resolve()
    const next = before.then(act)
    this.threads.set(
      thread,
      next.catch((error) => this.raise(error instanceof Error ? error.message : String(error))),
    )
  }

  private transfer(form: TransferOperation): void {
    const step = this.stepOf(form.stepsAgo ?? 0)
    const batch = this.batches.get(step)
    if (batch === undefined) return
    const bytes = payloadBytes(form, batch, this.options)
    this.tally.transfers++
    this.tally.bytes += bytes
    if (form.stream === 'cpu') this.transferOnHost(form, step, batch, bytes)
    else this.transferOnDevice(form, step, batch, bytes)
  }

  private transferOnDevice(
    form: TransferOperation,
    step: number,
    batch: Batch,
    bytes: number,
  ): void {
    const { protocol, rank, pp, seed } = this.options
    const { device } = this
    const stream = device.streamOf(form.stream)
    const buffer = this.bufferOf(form.name, step)
    if (form.do === 'collective') {
      fail('PPC424', `${form.name}: collectives other than broadcasts are not run live`)
    }
    const whom = form.do === 'broadcast' ? form.root : form.peer
    const peer = resolvePeer(whom, rank, pp) ?? 0
    const key = communicatorKey(
      protocol,
      form.communicator,
      rank,
      form.do === 'broadcast' ? undefined : peer,
    )
    const communicator = this.communicators.get(key)
    const plan =
      communicator === undefined ? fail('PPC424', `no communicator ${key}`) : communicator
    if (form.do === 'broadcast') {
      const isRoot = peer === rank
      if (isRoot) {
        buffer.host.set(this.payload(form, step, batch, bytes))
        device.upload(stream, buffer, bytes)
      }
      device.transfer('broadcast', stream, { communicator: plan, buffer, bytes, peer })
      if (!isRoot) device.download(stream, buffer, bytes)
      this.enqueued(form.name, step, stream)
      return
    }
    const isSource = form.do === 'send'
    const source = isSource ? rank : peer
    const words = bytes >> 2
    const wordKey = payloadKey(
      seed,
      step,
      payloadNumber(`link ${source}-${isSource ? peer : rank}`),
    )
    // On a communicator of two, ranks are numbered anew.
    const isPair = protocol.communicators[form.communicator].kind === 'pair'
    const peerThere = isPair ? (peer > rank ? 1 : 0) : peer
    if (isSource) device.fill(stream, buffer, words, wordKey)
    device.transfer(form.do, stream, { communicator: plan, buffer, bytes, peer: peerThere })
    if (!isSource) device.verify(stream, buffer, words, wordKey)
    this.enqueued(form.name, step, stream)
  }

  private transferOnHost(form: TransferOperation, step: number, batch: Batch, bytes: number): void {
    const { rank, pp } = this.options
    const label = `${form.name} of step ${step}`
    if (form.do !== 'broadcast') {
      fail('PPC424', `${form.name}: only broadcasts are run on the CPU transport`)
    }
    const line = this.tokens
    if (line === undefined) fail('PPC424', `${form.name}: this run has no CPU transport`)
    let finish = (): void => {}
    const done = new Promise<void>((resolve) => {
      finish = resolve
    })
    const work: CpuWork = { label, isDone: false, done }
    this.works.set(`${form.name}/${step}`, { kind: 'cpu', work })
    this.waiting.add(label)
    const over = (): void => {
      work.isDone = true
      this.waiting.delete(label)
      finish()
    }
    if (resolvePeer(form.root, rank, pp) === rank) {
      const post = (): void => {
        line.post(form.name, step, this.payload(form, step, batch, bytes))
        over()
      }
      if (form.thread === undefined) post()
      else this.onThread(form.thread, post)
      return
    }
    void line.receive().then((frame) => {
      // Order alone matches; the frame's label tells that it was the wrong one.
      if (frame.name !== form.name || frame.step !== step || frame.bytes.length !== bytes) {
        this.raise(`got ${frame.name} of step ${frame.step} for ${label}`)
        return
      }
      work.bytes = frame.bytes
      over()
    })
  }

  private payload(form: Broadcast, step: number, batch: Batch, size: number): Uint8Array {
    if (form.header !== undefined) return encodedHeader(form, headerOf(step, batch))
    const bytes = new Uint8Array(size)
    writeTokens(bytes, this.options.seed, step, form.name)
    return bytes
  }

  /** The buffer of a step; its last use must be over (record-stream discipline). */
  private bufferOf(name: string, step: number): DeviceBuffer {
    const ring = this.rings.get(name)
    if (ring === undefined) return fail('PPC424', `${name} has no buffers`)
    const earlier = this.works.get(`${name}/${step - this.ringSize}`)
    if (earlier !== undefined && !earlier.work.isDone) {
      fail('PPC424', `the buffer of ${earlier.work.label} would be used again before it is done`)
    }
    return ring[step % this.ringSize]
  }

  // ------------------------------------------------------------------------------ consumption

  private consume(form: Consume): void {
    const step = this.stepOf(form.stepsAgo)
    if (this.slots[0] !== step) return
    this.slots.shift()
    if (form.on !== 'host') this.streamWait(form.on, form.after, step)
    const arrivals = [form.after, ...form.adopts]
      .map((name) => this.arrival(name, step))
      .filter((arrival) => arrival !== undefined)
    if (arrivals.length === 0) {
      this.adopt(form, step)
      return
    }
    void Promise.all(arrivals).then(() => this.adopt(form, step))
  }

  /** Verifies every word of what a step received. */
  private adopt(form: Consume, step: number): void {
    const { checks } = form
    const problem = checks === undefined ? undefined : this.checkHeader(checks, step)
    if (problem !== undefined) {
      this.raise(`${checks} of step ${step}: ${problem}`)
      return
    }
    for (const name of form.adopts) {
      const bytes = this.received(name, step)
      if (bytes === undefined) continue
      const expected = { seed: this.options.seed, step, name }
      const wrong = tokenProblem(bytes, expected, form.adopts, this.ringSize)
      if (wrong !== undefined) {
        this.raise(`step ${step}: ${wrong}`)
        return
      }
      this.tally.adopted++
    }
  }

  private received(name: string, step: number): Uint8Array | undefined {
    const any = this.works.get(`${name}/${step}`)
    const batch = this.batches.get(step)
    if (any === undefined || batch === undefined) return undefined
    if (any.kind === 'cpu') return any.work.bytes
    const bytes = payloadBytes(this.form(name), batch, this.options)
    return this.rings.get(name)?.[step % this.ringSize].host.subarray(0, bytes)
  }
}
