// One rank's process: the rank's machine on its GPU. Started by gpu-launcher.ts and spoken to over
// its IPC channel; when that closes, the process ends, so that no orphan is left.

import { fullBatch } from '../spec/batch.ts'
import { PpcheckError } from '../spec/error.ts'
import { isTransfer } from '../spec/operation.ts'
import { createRankMachine, operationsOf } from '../spec/rank-machine.ts'
import { programOf, transfersOf } from '../spec/resolve-program.ts'
import { type CommunicatorPlan, communicatorsOf } from './communicators.ts'
import { requireGpuLibraries } from './cuda-addon.ts'
import { failureText, GpuDevice } from './gpu-device.ts'
import type { FromWorker, Setup, ToWorker } from './gpu-messages.ts'
import { GpuRank } from './gpu-rank.ts'
import { LiveMachine } from './live-machine.ts'
import { payloadBytes } from './payloads.ts'
import { TokenGloo } from './token-gloo.ts'
import type { TokenLine } from './token-line.ts'
import { TokenSockets } from './token-sockets.ts'

/** A device that does not close by then is left to the driver. */
const abandonTimeoutMs = 1000

const tell = (message: FromWorker): void => {
  if (process.connected) process.send?.(message)
}

class Worker {
  private readonly setup: Setup
  private readonly device: GpuDevice
  private sockets: TokenSockets | undefined
  private tokens: TokenLine | undefined
  private readonly program
  private readonly machine
  private readonly steps: { step: number; batch: number }[] = []
  private wake: () => void = () => {}
  private hostWaitsFor: string | undefined
  private isIdle = false
  private isOver = false
  private rank: GpuRank | undefined
  private readonly meetings = new Map<string, () => void>()

  constructor(setup: Setup) {
    this.setup = setup
    const { protocol, rank, pp, draftNs } = setup
    this.program = programOf(protocol, rank, pp)
    this.machine = new LiveMachine(createRankMachine(this.program))
    const forms = operationsOf(this.program)
    const used = forms.flatMap((form) => ('stream' in form ? [form.stream] : []))
    const streams = [...new Set(['main', ...used])].filter((each) => each !== 'cpu')
    // The full graph of a draft: two kernels that together take its time.
    const graphsNs = [[draftNs / 2, draftNs / 2]]
    const libraries = requireGpuLibraries(setup.paths)
    this.device = new GpuDevice(libraries, { ordinal: setup.ordinal, rank, streams, graphsNs })
    this.device.onFailure = (failure) => this.stop({ type: 'failed', text: failureText(failure) })
  }

  async listen(): Promise<void> {
    if (this.setup.tokens !== 'sockets') {
      tell({ type: 'listening', port: 0 })
      return
    }
    this.sockets = new TokenSockets(this.setup.rank, this.setup.secret)
    this.sockets.onLost = (peer) => this.lost(peer)
    this.tokens = this.sockets
    tell({ type: 'listening', port: await this.sockets.listen() })
  }

  private lost(peer: number): void {
    if (!this.isOver) tell({ type: 'lost', peer })
  }

  /** Connects the ranks for tokens that do not travel on the device. */
  private async joinTokens(ports: readonly number[]): Promise<void> {
    const { rank, pp, window, store, batches } = this.setup
    if (this.sockets !== undefined && rank === pp - 1) {
      const others = ports.map((port, peer) => [peer, port] as const)
      await this.sockets.connect(new Map(others.filter(([peer]) => peer !== rank)))
    }
    if (this.setup.tokens !== 'gloo') return
    const forms = transfersOf(this.program).filter(({ stream }) => stream === 'cpu')
    const sizes = batches.flatMap((batch) =>
      forms.map((form) => payloadBytes(form, batch, this.setup)),
    )
    const gloo = new TokenGloo({
      rank,
      size: pp,
      root: pp - 1,
      store,
      // The window bounds how far the root is ahead; a rank consumes pp steps later.
      depth: forms.length * (window + pp + 2),
      payloadBytesMax: Math.max(...sizes),
      onLost: (peer) => this.lost(peer),
    })
    this.tokens = gloo
    await gloo.opened
  }

  /** Joins all communicators, in the one order that all ranks have. */
  async join(ports: readonly number[]): Promise<void> {
    const { protocol, rank, pp } = this.setup
    await this.joinTokens(ports)
    const numbers = new Map<string, number>()
    for (const plan of communicatorsOf(protocol, pp)) {
      if (!plan.members.includes(rank)) continue
      const number = this.joinOne(plan, numbers)
      numbers.set(plan.key, number)
      // A split needs its parent; everything else may become ready together.
      await this.device.communicatorReady(number)
    }
    const host = new GpuRank(this.setup, this.device, this.tokens, numbers)
    for (const form of operationsOf(this.program)) if (isTransfer(form)) host.prepare(form)
    host.reply = (step) => tell({ type: 'reply', step })
    host.raise = (reason) => this.stop({ type: 'raised', step: host.step, reason })
    host.meet = (name, peer, step) => this.meet(name, peer, step)
    this.rank = host
    tell({ type: 'ready' })
    void this.run(host).catch((error) => this.crash(error))
  }

  private joinOne(plan: CommunicatorPlan, numbers: ReadonlyMap<string, number>): number {
    const { rank, ids } = this.setup
    const own = plan.members.indexOf(rank)
    const parent = plan.siblingOf === undefined ? undefined : numbers.get(plan.siblingOf)
    const sibling = parent === undefined ? undefined : this.device.splitCommunicator(parent, own)
    if (sibling !== undefined) return sibling
    const id = Buffer.from(ids[plan.key], 'base64')
    return this.device.initCommunicator(id, plan.members.length, own)
  }

  take(message: ToWorker): void {
    switch (message.type) {
      case 'step':
        this.steps.push(message)
        this.wake()
        return
      case 'idle':
        this.isIdle = true
        this.wake()
        return
      case 'met':
        this.meetings.get(message.key)?.()
        this.meetings.delete(message.key)
        return
      case 'status':
        tell({
          type: 'status',
          step: this.rank?.step ?? -1,
          state: this.machine.name,
          hostWaitsFor: this.hostWaitsFor,
          heads: this.device.heads(),
          unfinished: this.rank?.unfinished() ?? [],
        })
        return
      case 'end':
        void this.end(message.abort).catch((error) => this.crash(error))
        return
      default:
        return
    }
  }

  /** The host thread: lets the machine go on whenever what it waits for is there. */
  private async run(host: GpuRank): Promise<void> {
    const forms = operationsOf(this.program)
    while (!this.isOver) {
      const { operation } = this.machine
      if (operation < 0) {
        const isAwaited = this.machine.name === 'await-execute'
        if (isAwaited && !(await this.nextStep(host))) return
        if (!isAwaited) this.perform(host, this.machine.send({ type: 'SAMPLE' }))
        continue
      }
      const form = forms[operation]
      const ready = host.ready(form)
      if (ready !== undefined) {
        this.hostWaitsFor = this.machine.name
        this.device.flush()
        await ready
        this.hostWaitsFor = undefined
      }
      const problem = form.do === 'check-header' ? host.checkHeader(form.header) : undefined
      if (problem === undefined) {
        this.perform(host, this.machine.send({ type: 'PROCEED' }))
      } else {
        this.machine.send({ type: 'HEADER_MISMATCH' })
        this.stop({ type: 'raised', step: host.step, reason: problem })
      }
    }
  }

  /** Waits for the engine's next call; false when there is none and everything has run empty. */
  private async nextStep(host: GpuRank): Promise<boolean> {
    this.device.flush()
    let hasRunIdle = false
    while (this.steps.length === 0) {
      if (this.isIdle && !hasRunIdle && this.program.idle.length > 0) {
        hasRunIdle = true
        this.perform(host, this.machine.send({ type: 'IDLE' }))
        return true
      }
      if (this.isIdle) {
        await host.drained()
        tell({ type: 'drained', tally: host.tally, wrongWords: host.wrongWords() })
        return false
      }
      await new Promise<void>((resolve) => {
        this.wake = resolve
      })
    }
    const next = this.steps.shift()
    if (next === undefined) return false
    const batch = this.setup.batches[next.batch] ?? fullBatch()
    host.beginStep(next.step, batch)
    this.perform(host, this.machine.send({ type: 'EXECUTE', batch }))
    return true
  }

  private perform(host: GpuRank, effects: ReturnType<LiveMachine['send']>): void {
    const forms = operationsOf(this.program)
    for (const effect of effects) {
      try {
        if (effect.type === 'perform') host.perform(forms[effect.operation])
        if (effect.type === 'raise') host.raise('the program raises')
      } catch (error) {
        if (!(error instanceof PpcheckError)) throw error
        host.raise(error.message)
      }
    }
  }

  private meet(name: string, peer: number, step: number): Promise<void> {
    const { rank } = this.setup
    const key = `${name}/${step}/${Math.min(rank, peer)}-${Math.max(rank, peer)}`
    return new Promise((resolve) => {
      this.meetings.set(key, resolve)
      tell({ type: 'meet', key })
    })
  }

  private stop(message: FromWorker): void {
    if (this.isOver) return
    this.isOver = true
    tell(message)
  }

  private crash(error: unknown): void {
    this.stop({ type: 'failed', text: error instanceof Error ? error.message : String(error) })
  }

  private async end(isAbort: boolean): Promise<void> {
    this.isOver = true
    this.tokens?.close()
    const begin = performance.now()
    if (isAbort) await this.device.abort()
    const abortMs = performance.now() - begin
    await this.device.close()
    tell({ type: 'ended', abortMs: Math.round(abortMs) })
    if (process.connected) process.disconnect()
  }

  /** The launcher is gone: nobody will say how to end, and nobody waits. */
  abandon(): Promise<void> {
    return this.isOver ? Promise.resolve() : this.end(true)
  }
}

let worker: Worker | undefined

process.on('message', async (message: ToWorker) => {
  try {
    if (message.type === 'setup') {
      worker = new Worker(message.setup)
      await worker.listen()
    } else if (message.type === 'join') {
      await worker?.join(message.ports)
    } else {
      worker?.take(message)
    }
  } catch (error) {
    const { code, message: text } = error as PpcheckError
    tell({ type: 'failed', text, ...(error instanceof PpcheckError ? { code } : {}) })
  }
})
// Whoever started this is gone, or has said that it is over: nothing may keep the process.
process.on('disconnect', () => {
  setTimeout(() => process.exit(), abandonTimeoutMs)
  void worker
    ?.abandon()
    .catch(() => {})
    .finally(() => process.exit())
})
