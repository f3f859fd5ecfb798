// A worker thread of bulk runs: takes ranges of run numbers and says what failed in each. Must
// never write to stdout or stderr.

import { parentPort } from 'node:worker_threads'
import { BulkRun } from '../sim/bulk-run.ts'
import { InternalError } from '../spec/error.ts'
import type { BulkFromWorker, BulkToWorker } from './bulk-pool.ts'
import { failureOf } from './thread-failure.ts'

/** The tables of the scenario that came last: filled by one range, used by the next. */
let current: BulkRun | undefined

function run({ scenario, seed, range }: BulkToWorker): BulkFromWorker {
  try {
    if (scenario !== undefined) current = new BulkRun(scenario, seed)
    if (current === undefined) throw new InternalError('the first range comes with its scenario')
    if (range === undefined) return { kind: 'coverage', coverage: current.coverage() }
    const before = current.events
    const failure = current.run(range.from, range.end, range.stride)
    return { kind: 'done', failure, events: current.events - before }
  } catch (error) {
    return failureOf(error)
  }
}

parentPort?.on('message', (message: BulkToWorker) => parentPort?.postMessage(run(message)))

if (parentPort === null) throw new InternalError('bulk-worker.ts must be started as a thread')
