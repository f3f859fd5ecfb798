// `ppcheck explore`: checks scenarios and prints the verdict of each. Equal inputs give equal bytes
// on stdout; how long it took goes to stderr.

import type { ChalkInstance } from 'chalk'
import type { Explanation } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import type { CheckProgress, Verdict } from '../../sim/search/check.ts'
import { assert, fail } from '../../spec/error.ts'
import type { Scenario } from '../../spec/scenario.ts'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { flagName, type OptionValues, optionTable } from '../options.ts'
import {
  type CheckpointFiles,
  checkAll,
  type ExplainedCounterexample,
  type ExplainedVerdict,
} from '../pool.ts'
import type { Report } from '../reporters/report.ts'
import { type NamedScenario, replayLine, scenariosFrom } from '../scenario-source.ts'
import { poolOptions, searchOptions, seedOf } from '../search-options.ts'
import { traceText } from '../trace-file.ts'
import { counterexampleText, exitCodeOf, spaced, verdictHead } from '../verdict-text.ts'

const checkpointEveryMs = 60_000

export async function run(invocation: Invocation): Promise<Report> {
  const { options } = invocation
  if (options.shard !== undefined && options.bulk !== true) {
    fail('PPC107', 'only bulk runs are sharded (--shard)', 'add --mode random --bulk')
  }
  if (options.mode === 'random' && options.bulk === true) {
    const { runInBulk } = await import('./explore-bulk.ts')
    return runInBulk(invocation)
  }
  if (options.bulk === true) fail('PPC107', 'bulk runs are random: --bulk belongs to --mode random')
  if (options.mode !== 'exhaustive') {
    const { runRandom } = await import('./explore-random.ts')
    return runRandom(invocation, runExhaustive)
  }
  for (const key of ['runs', 'path', 'checkDeterminism'] as const) {
    if (options[key] === undefined) continue
    fail('PPC107', `${flagName(optionTable[key])} belongs to --mode random`)
  }
  return runExhaustive(invocation)
}

async function runExhaustive(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const named = await scenariosFrom(args, options)
  const files = checkpointFiles(options, named.length)
  if (options.save !== undefined) checkTarget(options.save, '--save')
  const signal = invocation.interruptSignal()
  const { verdicts, elapsedMs } = await checkAll(
    named.map(({ scenario }) => ({
      scenario,
      options: searchOptions(options),
      files,
      explain: true,
    })),
    {
      ...poolOptions(options, signal),
      onProgress: (job, state, since) =>
        progress.update(() => progressText(named[job].scenario.name, state, since)),
    },
  )
  named.forEach(({ scenario }, job) => {
    progress.note(`${scenario.name}: ${(elapsedMs[job] / 1000).toFixed(2)} s`)
  })
  const interrupted = signal.aborted
  const saved = options.save !== undefined && saveFirst(options.save, named, verdicts, options)
  const result: Result = { named, verdicts, options, interrupted, saved }
  const code = exitCodeOf(verdicts, options.require === 'exhaustive')
  return {
    command: 'explore',
    exitCode: interrupted ? exitCodes.interrupted : code,
    data: {
      seed: seedOf(options),
      interrupted,
      verdicts: verdicts.map((verdict, index) => verdictData(named[index], verdict)),
    },
    text: (paint) => reportText(paint, result),
  }
}

interface Result {
  readonly named: readonly NamedScenario[]
  readonly verdicts: readonly ExplainedVerdict[]
  readonly options: OptionValues
  readonly interrupted: boolean
  /** Was there a violation to save, and was it asked for? */
  readonly saved: boolean
}

function checkpointFiles(options: OptionValues, count: number): CheckpointFiles {
  const { checkpoint, checkpointEveryMs: everyMs, resume } = options
  const isWanted = checkpoint !== undefined || resume !== undefined
  if (isWanted && count !== 1) {
    fail('PPC107', `a checkpoint belongs to one scenario, ${count} are given (--checkpoint)`)
  }
  if (checkpoint !== undefined) checkTarget(checkpoint, '--checkpoint')
  return {
    everyMs: everyMs ?? checkpointEveryMs,
    ...(checkpoint === undefined ? {} : { save: checkpoint }),
    ...(resume === undefined ? {} : { resume }),
  }
}

function progressText(name: string, progress: CheckProgress, elapsedMs: number): string {
  const { phase, states, queued, fired, bytes } = progress
  const rate = elapsedMs > 0 ? Math.round((states / elapsedMs) * 1000) : 0
  return (
    `${name}: ${phase}, ${spaced(states)} states, ${spaced(queued)} queued, ` +
    `${spaced(fired)} transitions, ${spaced(rate)} states/s, ${Math.round(bytes / 2 ** 20)} MiB`
  )
}

/** The first violation goes to the file; without one there is nothing to save. */
function saveFirst(
  file: string,
  named: readonly NamedScenario[],
  verdicts: readonly Verdict[],
  options: OptionValues,
): boolean {
  const index = verdicts.findIndex(({ counterexamples }) => counterexamples.length > 0)
  if (index < 0) return false
  const { scenario } = named[index]
  const { schedule } = verdicts[index].counterexamples[0]
  const trace = replay(scenario, decodeSchedule(scenario, schedule))
  writeFileAtomically(file, traceText(trace, schedule, seedOf(options)))
  return true
}

function explanationOf({ explanation }: ExplainedCounterexample): Explanation {
  assert(explanation !== undefined, 'a counterexample comes back without its explanation')
  return explanation
}

function verdictData(named: NamedScenario, verdict: ExplainedVerdict) {
  const { counterexamples, bytes: _bytes, ...rest } = verdict
  return {
    scenario: named.scenario.name,
    ...rest,
    counterexamples: counterexamples.map(({ explanation: _, ...counterexample }, index) => ({
      ...counterexample,
      ...explanationOf(counterexamples[index]),
      replay: replayLine(named.words, counterexample.schedule),
    })),
  }
}

/** What the verdict assumes; what is at its usual value of "off" is left out. */
function assumptionsText({ topology, device, faults }: Scenario): string {
  const { residentCollectives, launchOrder, hardwareQueues, eager, moduleLoading } = device
  const kinds = [...new Set(faults.map(({ kind }) => kind))].join(', ')
  return [
    `pp ${topology.pp}`,
    `window ${topology.window}`,
    `${residentCollectives} resident`,
    `launch order ${launchOrder}`,
    ...(hardwareQueues > 0 ? [`${hardwareQueues} hardware queues`] : []),
    ...(eager > 0 ? [`eager ${eager}`] : []),
    ...(moduleLoading === 'lazy' ? ['lazy module loading'] : []),
    ...(kinds === '' ? [] : [`faults ${kinds}`]),
  ].join(', ')
}

function reportText(paint: ChalkInstance, result: Result): string {
  const { named, verdicts, options, interrupted, saved } = result
  const lines = [`seed     ${seedOf(options)}`]
  const isStopped = verdicts.some(({ scope }) => 'reason' in scope && scope.reason === 'stopped')
  if (interrupted || isStopped) {
    const by = interrupted ? 'Ctrl-C' : '--time-limit'
    lines.push(paint.yellow(`stopped  by ${by}; this report is partial`))
  }
  if (options.save !== undefined) {
    lines.push(`trace    ${saved ? `saved as ${options.save}` : 'nothing to save: no violation'}`)
  }
  verdicts.forEach((verdict, index) => {
    const { scenario } = named[index]
    lines.push(
      '',
      `${paint.bold(scenario.name)}: ${assumptionsText(scenario)}`,
      ...verdictHead(paint, verdict),
    )
    for (const counterexample of verdict.counterexamples) {
      const explanation = explanationOf(counterexample)
      const line = replayLine(named[index].words, counterexample.schedule)
      lines.push(...counterexampleText(paint, counterexample, explanation, line))
    }
  })
  return lines.join('\n')
}
