// Spreads bulk runs over worker threads, in ranges. A run depends on its number alone, and of
// several failures the one with the lowest number counts, so the result is the same for any number
// of workers.

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { BulkFailure } from '../sim/bulk-run.ts'
import { type Coverage, joined } from '../sim/coverage.ts'
import { InternalError } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'
import { errorOf, type ThreadFailure } from './thread-failure.ts'

export interface BulkToWorker {
  /** With the first range only. */
  readonly scenario: Scenario | undefined
  readonly seed: number
  /** Undefined: no more ranges, tell what was reached. */
  readonly range:
    | { readonly from: number; readonly end: number; readonly stride: number }
    | undefined
}

type Range = NonNullable<BulkToWorker['range']>

export type BulkFromWorker =
  | {
      readonly kind: 'done'
      readonly failure: BulkFailure | undefined
      readonly events: number
    }
  | { readonly kind: 'coverage'; readonly coverage: Coverage }
  | ThreadFailure

export interface BulkOptions {
  /** Runs of all shards together are numbered 0 to before `runs`. */
  readonly runs: number
  readonly seed: number
  /** This is shard `index` (from 0) of `count`: it has every `count`-th run. */
  readonly shard: { readonly index: number; readonly count: number }
  readonly workers: number | 'auto'
  /** Asked before each range; true ends the runs there. */
  readonly stop: (runsDone: number) => boolean
}

export interface BulkResult {
  /** Runs that were made; with a failure: up to and with the one that failed. */
  readonly runs: number
  readonly failure: BulkFailure | undefined
  /** Events of all runs; 0 if one failed, as runs after it may or may not have been made. */
  readonly events: number
  /** What clean runs have reached. */
  readonly coverage: Coverage | undefined
}

/** Runs of one range: some hundredths of a second, so that Ctrl-C is seen soon. */
const rangeRuns = 500

/** @throws PpcheckError what the scenario was refused for. */
export async function runBulk(scenario: Scenario, options: BulkOptions): Promise<BulkResult> {
  const { runs, seed, shard } = options
  const mine = Math.max(0, Math.ceil((runs - shard.index) / shard.count))
  const wanted = options.workers === 'auto' ? availableParallelism() : options.workers
  const count = Math.max(1, Math.min(wanted, Math.ceil(mine / rangeRuns)))
  let next = 0
  let done = 0
  let events = 0
  let failure: BulkFailure | undefined
  let coverage: Coverage | undefined
  const numberOf = (place: number): number => place * shard.count + shard.index
  const take = (): Range | undefined => {
    if (next >= mine || failure !== undefined || options.stop(done)) return undefined
    const end = Math.min(mine, next + rangeRuns)
    const range = { from: numberOf(next), end: numberOf(end), stride: shard.count }
    next = end
    return range
  }
  const keep = (result: BulkFromWorker & { kind: 'done' }, range: Range): void => {
    done += (range.end - range.from) / range.stride
    events += result.events
    const { failure: found } = result
    if (found === undefined) return
    if (failure === undefined || found.index < failure.index) failure = found
  }
  const workers = Array.from(
    { length: count },
    () => new Worker(new URL('./bulk-worker.js', import.meta.url)),
  )
  try {
    const parts = await Promise.all(
      workers.map((worker) => feed(worker, scenario, seed, take, keep)),
    )
    coverage = joined(parts)
  } finally {
    for (const worker of workers) void worker.terminate()
  }
  if (failure === undefined) return { runs: done, failure, events, coverage }
  const { index } = failure as BulkFailure
  return { runs: (index - shard.index) / shard.count + 1, failure, events: 0, coverage: undefined }
}

/** Gives one worker range after range until there is none. @returns what it has reached. */
function feed(
  worker: Worker,
  scenario: Scenario,
  seed: number,
  take: () => Range | undefined,
  keep: (result: BulkFromWorker & { kind: 'done' }, range: Range) => void,
): Promise<Coverage> {
  return new Promise((resolve, reject) => {
    let range = take()
    const post = (first: boolean): void =>
      worker.postMessage({ scenario: first ? scenario : undefined, seed, range })
    worker.on('message', (message: BulkFromWorker) => {
      if (message.kind === 'failed') {
        reject(errorOf(message))
        return
      }
      if (message.kind === 'coverage') {
        resolve(message.coverage)
        return
      }
      if (range !== undefined) keep(message, range)
      range = take()
      post(false)
    })
    worker.on('error', reject)
    worker.on('exit', () => reject(new InternalError('a thread of bulk runs ended early')))
    post(true)
  })
}
