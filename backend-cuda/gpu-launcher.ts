// A live run on GPUs, real or emulated: one process a rank, the engine's machine here. It ends when
// all steps are done and everything has run empty, when a rank raises, fails or dies, or when
// nothing has moved for as long as the watchdog allows; and whatever happens no process is left.

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createActor } from 'xstate'
import type { Batch } from '../spec/batch.ts'
import { batchFrom } from '../spec/batch.ts'
import { createEngineMachine } from '../spec/engine-machine.ts'
import { type ErrorCode, fail } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'
import { communicatorsOf } from './communicators.ts'
import { type LibraryPaths, requireGpuLibraries } from './cuda-addon.ts'
import { loadGloo } from './gloo.ts'
import type { FromWorker, RankStatus, Setup, TokenTransport, ToWorker } from './gpu-messages.ts'
import { scriptFile } from './package-folder.ts'
import { tokenWord } from './token-words.ts'

export interface LiveOptions {
  readonly scenario: Scenario
  readonly paths: LibraryPaths
  readonly steps: number
  readonly seed: number
  readonly watchdogMs: number
  readonly forwardUs: number
  readonly sampleUs: number
  readonly draftUs: number
  readonly activationBytes: number
  /** Variables for the workers, beside those of this process. */
  readonly environment: Readonly<Record<string, string>>
  /** Faults: at the dispatch of a step the rank is killed, stopped, or handed another batch. */
  readonly inject: readonly LiveFault[]
  readonly onProgress?: (retired: number) => void
  readonly signal?: AbortSignal
  /** What carries tokens of a CPU transport: Gloo where it is built, unless this says otherwise. */
  readonly tokens?: 'gloo' | 'sockets'
}

export interface LiveFault {
  readonly kind: 'die' | 'stall' | 'own-mask'
  readonly rank: number
  readonly step: number
}

export type LiveOutcome = 'completed' | 'wedge' | 'raised' | 'failed' | 'died' | 'interrupted'

export interface LiveResult {
  readonly outcome: LiveOutcome
  /** Why it ended, in words; names the rank. */
  readonly reason: string
  readonly code?: ErrorCode
  /** The rank that raised, failed, died or does not answer. */
  readonly rank?: number
  readonly retired: number
  readonly elapsedMs: number
  /** Dispatch to reply, of each step that was retired, ms. */
  readonly latenciesMs: readonly number[]
  readonly adopted: number
  readonly transfers: number
  readonly bytes: number
  /** Words of activations that kernels found wrong. */
  readonly wrongWords: number
  /** Where each rank stood when it wedged; undefined for one that did not answer. */
  readonly ranks: readonly (RankStatus | undefined)[]
  /** Process ids of the ranks. */
  readonly processes: readonly number[]
  /** From the order to abort until all were gone, and the longest abort of a rank. */
  readonly endMs: number
  readonly abortMs: number
  readonly emulated: boolean
  readonly driverVersion: number
  readonly ncclVersion: number
  readonly gpu: string
  readonly tokens: TokenTransport
}

/** Starting eight processes and joining their communicators takes seconds on few cores. */
const startTimeoutMs = 60_000
/** A rank whose loop is alive answers at once; the others are named. */
const statusTimeoutMs = 1000
/** From the order to end until who is left is killed. */
const endTimeoutMs = 2000

interface Rank {
  readonly process: ChildProcess
  stderr: string
  port: number | undefined
  isReady: boolean
  drained: Extract<FromWorker, { type: 'drained' }> | undefined
  status: RankStatus | undefined
  abortMs: number
  hasEnded: boolean
}

/**
 * Runs a scenario live. @throws PpcheckError PPC420 to PPC424, PPC426 with fewer GPUs than ranks.
 */
export async function runLive(options: LiveOptions): Promise<LiveResult> {
  const { scenario, paths } = options
  const libraries = requireGpuLibraries(paths)
  const { pp } = scenario.topology
  const there = libraries.gpus.length
  if (there < pp) {
    const instead = libraries.emulated ? `--gpus ${there}` : `--gpus ${there}, or --device emulated`
    fail('PPC426', `${pp} ranks need ${pp} GPUs, there are ${there} (--gpus)`, instead)
  }
  const ids = Object.fromEntries(
    communicatorsOf(scenario.protocol, pp).map(({ key }) => [
      key,
      libraries.addon.uniqueId(libraries.handle).toString('base64'),
    ]),
  )
  const tokens = tokenTransport(scenario, options.tokens)
  const store = mkdtempSync(join(tmpdir(), 'ppcheck-run-'))
  let result: Awaited<ReturnType<LiveRun['result']>>
  try {
    result = await new LiveRun(options, ids, { tokens, store }).result()
  } finally {
    rmSync(store, { recursive: true, force: true })
  }
  if (libraries.emulated) removeSegments(Object.values(ids))
  return {
    ...result,
    emulated: libraries.emulated,
    driverVersion: libraries.driverVersion,
    ncclVersion: libraries.ncclVersion,
    gpu: libraries.gpus[0].name,
    tokens,
  }
}

/** Gloo is what the field used; sockets do where it is not built. */
function tokenTransport(scenario: Scenario, wanted: LiveOptions['tokens']): TokenTransport {
  const { last, others } = scenario.protocol.roles
  const forms = [last, others].flatMap(({ execute, sample, idle = [] }) => [
    ...execute,
    ...sample,
    ...idle,
  ])
  if (!forms.some((form) => 'stream' in form && form.stream === 'cpu')) return 'none'
  if (wanted !== undefined) return wanted
  try {
    loadGloo()
    return 'gloo'
  } catch {
    return 'sockets'
  }
}

/** A member that is killed while others still join leaves its communicator's shared memory. */
function removeSegments(ids: readonly string[]): void {
  for (const id of ids) {
    const name = Buffer.from(id, 'base64').toString('latin1').replace(/\0.*$/s, '')
    if (/^\/ppcheck-[0-9a-f]+$/.test(name)) rmSync(`/dev/shm${name}`, { force: true })
  }
}

type Ending = Pick<LiveResult, 'outcome' | 'reason'> & { rank?: number; code?: ErrorCode }

class LiveRun {
  private readonly options: LiveOptions
  private readonly ranks: Rank[]
  private readonly batches: readonly Batch[]
  private readonly engine
  private readonly dispatchedMs: number[] = []
  private readonly latenciesMs: number[] = []
  private readonly meetings = new Set<string>()
  private dispatched = 0
  private retired = 0
  private beganMs = 0
  private movedMs = performance.now()
  private isEnding = false
  private changed: () => void = () => {}
  private finish: (ending: Ending) => void = () => {}
  private readonly ending: Promise<Ending>

  constructor(
    options: LiveOptions,
    ids: Readonly<Record<string, string>>,
    line: { readonly tokens: TokenTransport; readonly store: string },
  ) {
    this.options = options
    const { topology, protocol, workload } = options.scenario
    this.batches = [...workload.script, ...workload.choices].map(batchFrom)
    this.engine = createActor(createEngineMachine(topology.window)).start()
    this.ending = new Promise((resolve) => {
      this.finish = resolve
    })
    const secret = randomBytes(16).toString('hex')
    this.ranks = Array.from({ length: topology.pp }, (_, rank) => {
      const worker = this.start(rank)
      const setup: Setup = {
        protocol,
        rank,
        pp: topology.pp,
        window: topology.window,
        drafts: topology.drafts,
        seed: options.seed,
        forwardNs: options.forwardUs * 1000,
        sampleNs: options.sampleUs * 1000,
        draftNs: options.draftUs * 1000,
        activationBytes: options.activationBytes,
        batches: this.batches,
        paths: options.paths,
        ordinal: rank,
        secret,
        ids,
        ...line,
      }
      this.send(worker, { type: 'setup', setup })
      return worker
    })
  }

  async result() {
    const watchdog = setInterval(() => this.watch(), 50)
    const interrupt = (): void =>
      this.finish({ outcome: 'interrupted', reason: 'interrupted by Ctrl-C' })
    this.options.signal?.addEventListener('abort', interrupt)
    const ending = await this.ending
    const elapsedMs = performance.now() - this.beganMs
    clearInterval(watchdog)
    this.options.signal?.removeEventListener('abort', interrupt)
    this.isEnding = true
    let { rank, reason } = ending
    if (ending.outcome === 'wedge') {
      await this.askStatus()
      const mute = this.ranks.findIndex((each) => each.status === undefined && !each.hasEnded)
      if (mute >= 0) {
        rank = mute
        reason = `${reason}; rank ${mute} does not answer`
      }
    }
    const beganMs = performance.now()
    await this.end(ending.outcome !== 'completed')
    const drained = this.ranks.flatMap((each) => each.drained ?? [])
    const sum = (of: (each: (typeof drained)[number]) => number): number =>
      drained.reduce((total, each) => total + of(each), 0)
    return {
      ...ending,
      reason,
      ...(rank === undefined ? {} : { rank }),
      retired: this.retired,
      elapsedMs,
      latenciesMs: this.latenciesMs,
      adopted: sum(({ tally }) => tally.adopted),
      transfers: sum(({ tally }) => tally.transfers),
      bytes: sum(({ tally }) => tally.bytes),
      wrongWords: sum(({ wrongWords }) => wrongWords),
      ranks: this.ranks.map(({ status }) => status),
      processes: this.ranks.map(({ process: child }) => child.pid ?? -1),
      endMs: Math.round(performance.now() - beganMs),
      abortMs: Math.max(...this.ranks.map(({ abortMs }) => abortMs)),
    }
  }

  private start(rank: number): Rank {
    const child = fork(scriptFile('gpu-worker'), {
      env: { ...process.env, ...this.options.environment, RANK: String(rank) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const worker: Rank = {
      process: child,
      stderr: '',
      port: undefined,
      isReady: false,
      drained: undefined,
      status: undefined,
      abortMs: 0,
      hasEnded: false,
    }
    child.stderr?.on('data', (data) => {
      worker.stderr = `${worker.stderr}${data}`.slice(-2000)
    })
    child.on('message', (message) => this.take(rank, worker, message as FromWorker))
    child.on('error', (error) => this.died(rank, worker, error.message))
    child.on('exit', (code, signal) => this.died(rank, worker, signal ?? `code ${code}`))
    return worker
  }

  private died(rank: number, worker: Rank, how: string): void {
    worker.hasEnded = true
    this.changed()
    if (this.isEnding) return
    const said = worker.stderr.trim().split('\n').at(-1) ?? ''
    const reason = `rank ${rank} ended with ${how}${said === '' ? '' : `: ${said}`}`
    this.finish({ outcome: 'died', reason, rank, code: 'PPC403' })
  }

  private send(worker: Rank, message: ToWorker): void {
    // A channel that has just closed is no news: the exit that follows is.
    if (worker.process.connected) worker.process.send(message, () => {})
  }

  private take(rank: number, worker: Rank, message: FromWorker): void {
    switch (message.type) {
      case 'listening': {
        worker.port = message.port
        const ports = this.ranks.map(({ port }) => port ?? -1)
        if (!ports.includes(-1)) this.toAll({ type: 'join', ports })
        return
      }
      case 'ready':
        worker.isReady = true
        if (!this.ranks.every(({ isReady }) => isReady)) return
        this.beganMs = performance.now()
        this.moved()
        this.dispatch()
        return
      case 'reply':
        this.retire(message.step)
        return
      case 'meet':
        // The second of the two frees both.
        if (this.meetings.delete(message.key)) this.toAll({ type: 'met', key: message.key })
        else this.meetings.add(message.key)
        return
      case 'drained':
        worker.drained = message
        this.moved()
        if (!this.ranks.every(({ drained }) => drained !== undefined)) return
        this.finish({ outcome: 'completed', reason: 'all steps are done' })
        return
      case 'raised': {
        const reason = `rank ${rank} raised in step ${message.step}: ${message.reason}`
        this.finish({ outcome: 'raised', reason, rank })
        return
      }
      case 'failed': {
        const { code = 'PPC424' } = message
        this.finish({ outcome: 'failed', reason: message.text, rank, code })
        return
      }
      case 'status':
        worker.status = message
        this.changed()
        return
      case 'ended':
        worker.abortMs = message.abortMs
        return
      default:
        // A lost token connection: whoever lost it ends, and the exit says so.
        return
    }
  }

  private toAll(message: ToWorker): void {
    for (const worker of this.ranks) this.send(worker, message)
  }

  private moved(): void {
    this.movedMs = performance.now()
  }

  private dispatch(): void {
    const { steps, seed } = this.options
    const { script } = this.options.scenario.workload
    const choices = this.batches.length - script.length
    while (this.dispatched < steps && this.engine.getSnapshot().can({ type: 'DISPATCH' })) {
      this.engine.send({ type: 'DISPATCH' })
      const step = this.dispatched++
      const chosen = script.length + (tokenWord(seed >>> 0, step) % choices)
      const batch = step < script.length ? step : chosen
      this.dispatchedMs.push(performance.now())
      this.ranks.forEach((worker, rank) => {
        this.send(worker, { type: 'step', step, batch: this.injected(rank, step, worker, batch) })
      })
    }
    if (this.retired < steps) return
    this.engine.send({ type: 'IDLE' })
    this.toAll({ type: 'idle' })
  }

  /** Lets a fault strike; returns the batch that the rank is told. */
  private injected(rank: number, step: number, worker: Rank, batch: number): number {
    const fault = this.options.inject.find((each) => each.rank === rank && each.step === step)
    if (fault?.kind === 'die') worker.process.kill('SIGKILL')
    if (fault?.kind === 'stall') worker.process.kill('SIGSTOP')
    if (fault?.kind !== 'own-mask') return batch
    return this.batches.length > 1 ? (batch + 1) % this.batches.length : batch
  }

  private retire(step: number): void {
    // The engine hands steps out in order and takes them back in order.
    if (step !== this.retired) return
    this.retired++
    this.engine.send({ type: 'RETIRE' })
    this.latenciesMs.push(performance.now() - this.dispatchedMs[step])
    this.moved()
    this.options.onProgress?.(this.retired)
    this.dispatch()
  }

  private watch(): void {
    const idleMs = performance.now() - this.movedMs
    if (this.beganMs === 0) {
      if (idleMs < startTimeoutMs) return
      const rank = this.ranks.findIndex(({ isReady }) => !isReady)
      const reason = `rank ${rank} was not ready after ${startTimeoutMs / 1000} s`
      this.finish({ outcome: 'failed', reason, rank, code: 'PPC424' })
      return
    }
    if (idleMs < this.options.watchdogMs) return
    const reason = `nothing has moved for ${this.options.watchdogMs} ms`
    this.finish({ outcome: 'wedge', reason })
  }

  private async askStatus(): Promise<void> {
    this.toAll({ type: 'status' })
    await this.within(statusTimeoutMs, () =>
      this.ranks.every(({ status, hasEnded }) => status !== undefined || hasEnded),
    )
  }

  private async end(abort: boolean): Promise<void> {
    this.toAll({ type: 'end', abort })
    const areGone = () => this.ranks.every(({ hasEnded }) => hasEnded)
    await this.within(endTimeoutMs, areGone)
    for (const { process: child, hasEnded } of this.ranks) if (!hasEnded) child.kill('SIGKILL')
    await this.within(endTimeoutMs, areGone)
  }

  private async within(timeoutMs: number, holds: () => boolean): Promise<void> {
    const until = performance.now() + timeoutMs
    while (!holds() && performance.now() < until) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(1, until - performance.now()))
        this.changed = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}
