// Runs many searches over worker threads. Results come back in the order of the jobs and are the
// same for any number of workers, because each search is deterministic and none shares anything.

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Explanation } from '../sim/explain.ts'
import type { CheckOptions, CheckProgress, Counterexample, Verdict } from '../sim/search/check.ts'
import { InternalError, PpcheckError } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'
import { errorOf, type ThreadFailure } from './thread-failure.ts'

/** Options of a search that can be sent to a worker: no functions, no checkpoint in memory. */
export type PlainCheckOptions = Omit<CheckOptions, 'onProgress' | 'checkpoint' | 'resume'>

/** Where a search keeps its checkpoint, how often, and from which it goes on. */
export interface CheckpointFiles {
  readonly save?: string
  readonly everyMs: number
  readonly resume?: string
}

export interface Job {
  readonly scenario: Scenario
  readonly options: PlainCheckOptions
  readonly files?: CheckpointFiles
  /** Explain every counterexample; cheapest where its search has just filled the tables. */
  readonly explain?: boolean
}

/** A counterexample; with its explanation if the job asked for it. */
export interface ExplainedCounterexample extends Counterexample {
  readonly explanation?: Explanation
}

/** A verdict as a thread sends it back. */
export interface ExplainedVerdict extends Verdict {
  readonly counterexamples: readonly ExplainedCounterexample[]
}

export interface ToWorker {
  readonly job: number
  readonly scenario: Scenario
  readonly options: PlainCheckOptions
  readonly files: CheckpointFiles
  readonly explain: boolean
}

export type FromWorker =
  | {
      readonly kind: 'progress'
      readonly job: number
      readonly progress: CheckProgress
      readonly elapsedMs: number
    }
  | {
      readonly kind: 'done'
      readonly job: number
      readonly verdict: ExplainedVerdict
      readonly elapsedMs: number
    }
  | (ThreadFailure & { readonly job: number })

export interface PoolOptions {
  readonly workers: number | 'auto'
  /** Stops all searches; each then reports what it has. */
  readonly signal?: AbortSignal
  /** Stops all searches after this time, in milliseconds. */
  readonly timeLimitMs?: number
  readonly onProgress?: (job: number, progress: CheckProgress, elapsedMs: number) => void
  /** Told of every search that ends, with the number of those that have. */
  readonly onDone?: (finished: number) => void
}

/** Verdicts in the order of the jobs, and how long each took. */
export interface Checked {
  readonly verdicts: readonly ExplainedVerdict[]
  readonly elapsedMs: readonly number[]
}

const noFiles: CheckpointFiles = { everyMs: Number.POSITIVE_INFINITY }

/**
 * Checks all jobs, on as many threads as are wanted.
 * @throws PpcheckError whatever the first failing job (in job order) was refused for.
 */
export async function checkAll(jobs: readonly Job[], options: PoolOptions): Promise<Checked> {
  const wanted = options.workers === 'auto' ? availableParallelism() : options.workers
  const first = early
  early = undefined
  const flag = first?.flag ?? new SharedArrayBuffer(4)
  const stop = (): void => void Atomics.store(new Int32Array(flag), 0, 1)
  if (options.signal?.aborted) stop()
  options.signal?.addEventListener('abort', stop)
  const timer =
    options.timeLimitMs === undefined ? undefined : setTimeout(stop, options.timeLimitMs)
  const results = new Array<FromWorker>(jobs.length)
  const workers: Worker[] = []
  const startWorker = (ready: Worker | undefined): Worker => {
    const worker = ready ?? newWorker(flag)
    workers.push(worker)
    return worker
  }
  let next = 0
  let finished = 0
  try {
    first?.worker.ref()
    const runners = Array.from({ length: Math.max(1, Math.min(wanted, jobs.length)) }, (_, index) =>
      runWorker(
        startWorker(index === 0 ? first?.worker : undefined),
        (post) => {
          if (next >= jobs.length) return false
          const job = next++
          const { scenario, options: plain, files = noFiles, explain = false } = jobs[job]
          post({ job, scenario, options: plain, files, explain })
          return true
        },
        (message) => {
          if (message.kind === 'progress') {
            options.onProgress?.(message.job, message.progress, message.elapsedMs)
            return
          }
          results[message.job] = message
          options.onDone?.(++finished)
        },
      ),
    )
    await Promise.all(runners)
  } finally {
    // If one was lost, the others would keep the process alive until their searches end.
    for (const worker of workers) void worker.terminate()
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
  }
  const done = results.map(doneOf)
  return {
    verdicts: done.map(({ verdict }) => verdict),
    elapsedMs: done.map(({ elapsedMs }) => elapsedMs),
  }
}

function doneOf(result: FromWorker): FromWorker & { readonly kind: 'done' } {
  if (result.kind === 'failed') throw errorOf(result)
  if (result.kind === 'progress') throw new InternalError('a search ended without a result')
  return result
}

/** A thread that loads while the main thread still reads the scenarios. */
let early: { readonly worker: Worker; readonly flag: SharedArrayBuffer } | undefined

/**
 * Starts the first thread ahead of `checkAll`: half of a small search is loading modules, and two
 * threads load at once. It does not keep the process alive if nothing is searched after all.
 */
export function startEarly(): void {
  const flag = new SharedArrayBuffer(4)
  early = { worker: newWorker(flag), flag }
  early.worker.unref()
}

function newWorker(flag: SharedArrayBuffer): Worker {
  return new Worker(new URL('./worker.js', import.meta.url), {
    workerData: flag,
    // Visited sets live outside the heap, but numbered local states are strings inside it.
    resourceLimits: { maxOldGenerationSizeMb: 12_288 },
  })
}

/** One worker, fed until there is nothing left. */
function runWorker(
  worker: Worker,
  feed: (post: (message: ToWorker) => void) => boolean,
  receive: (message: FromWorker) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const more = (): void => {
      if (feed((message) => worker.postMessage(message))) return
      void worker.terminate()
      resolve()
    }
    worker.on('message', (message: FromWorker) => {
      receive(message)
      if (message.kind !== 'progress') more()
    })
    worker.on('error', (error) => {
      const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
      reject(isMemory ? outOfMemory() : error)
    })
    // After the last result this changes nothing; before it, nobody may wait for ever.
    worker.on('exit', () => reject(new InternalError('a search thread ended without a result')))
    more()
  })
}

const outOfMemory = (): PpcheckError =>
  new PpcheckError('PPC205', 'the search ran out of memory', 'bound it with --max-states')
