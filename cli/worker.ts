// A worker thread: runs one search after the other for pool.ts. The search itself knows no clock
// and no files; both are handed to it from here. Must never write to stdout or stderr.

import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { explainSchedule } from '../sim/explain.ts'
import { type CheckOptions, check, checkpointIdentity, type Verdict } from '../sim/search/check.ts'
import { type Checkpoint, decodeCheckpoint, encodeCheckpoint } from '../sim/search/checkpoint.ts'
import { InternalError, PpcheckError } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'
import { writeFileAtomically } from './atomic-file.ts'
import type { CheckpointFiles, ExplainedVerdict, FromWorker, ToWorker } from './pool.ts'
import { failureOf } from './thread-failure.ts'

const progressIntervalMs = 100
const stop = new Int32Array(workerData as SharedArrayBuffer)

parentPort?.on('message', (message: ToWorker) => {
  parentPort?.postMessage(run(message))
})

function run({ job, scenario, options: plain, files, explain: isWanted }: ToWorker): FromWorker {
  const started = performance.now()
  let shownAt = started
  let savedAt = started
  const isStopped = (): boolean => Atomics.load(stop, 0) !== 0
  try {
    const options: CheckOptions = {
      ...plain,
      onProgress: (progress) => {
        const now = performance.now()
        if (now - shownAt >= progressIntervalMs) {
          shownAt = now
          const message: FromWorker = { kind: 'progress', job, progress, elapsedMs: now - started }
          parentPort?.postMessage(message)
        }
        return isStopped()
      },
      ...checkpointOptions(files, isStopped, () => {
        const due = performance.now() - savedAt >= files.everyMs
        if (due) savedAt = performance.now()
        return due
      }),
    }
    const resume = files.resume === undefined ? {} : readCheckpoint(files.resume, scenario, options)
    const verdict = check(scenario, { ...options, ...resume })
    const elapsedMs = performance.now() - started
    return {
      kind: 'done',
      job,
      verdict: isWanted ? explained(scenario, verdict) : verdict,
      elapsedMs,
    }
  } catch (error) {
    return { ...failureOf(error), job }
  }
}

const explained = (scenario: Scenario, verdict: Verdict): ExplainedVerdict => ({
  ...verdict,
  counterexamples: verdict.counterexamples.map((counterexample) => ({
    ...counterexample,
    explanation: explainSchedule(scenario, counterexample.schedule),
  })),
})

/** A stopped search leaves a checkpoint too, so that nothing is lost by Ctrl-C. */
function checkpointOptions(
  files: CheckpointFiles,
  isStopped: () => boolean,
  isTimeDue: () => boolean,
): Pick<CheckOptions, 'checkpoint'> {
  const { save: path } = files
  if (path === undefined) return {}
  const save = (checkpoint: Checkpoint): void =>
    writeFileAtomically(path, encodeCheckpoint(checkpoint))
  return { checkpoint: { isDue: () => isStopped() || isTimeDue(), save } }
}

function readCheckpoint(
  path: string,
  scenario: Scenario,
  options: CheckOptions,
): Pick<CheckOptions, 'resume'> {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new PpcheckError('PPC109', `cannot read ${path}: ${reason} (--resume)`)
  }
  return { resume: decodeCheckpoint(bytes, checkpointIdentity(scenario, options)) }
}

if (parentPort === null) throw new InternalError('worker.ts must be started as a worker thread')
