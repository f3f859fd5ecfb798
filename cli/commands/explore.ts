// `ppcheck explore`: checks scenarios and prints the verdict of each. Equal inputs give equal bytes
// on stdout; how long it took goes to stderr.

import type { ChalkInstance } from 'chalk'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import type { CheckProgress, Counterexample, Verdict } from '../../sim/search/check.ts'
import { fail } from '../../spec/error.ts'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import { type CheckpointFiles, checkAll, type PlainCheckOptions } from '../pool.ts'
import type { Report } from '../reporters/report.ts'
import { type NamedScenario, quoted, scenariosFrom } from '../scenario-source.ts'
import { traceText } from '../trace-file.ts'
import { counterexampleText, exitCodeOf, spaced, verdictHead } from '../verdict-text.ts'

const checkpointEveryMs = 60_000

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const named = await scenariosFrom(args, options)
  const files = checkpointFiles(options, named.length)
  if (options.save !== undefined) checkTarget(options.save, '--save')
  const signal = invocation.interruptSignal()
  const verdicts = await checkAll(
    named.map(({ scenario }) => ({ scenario, options: checkOptions(options), files })),
    {
      workers: options.workers ?? 'auto',
      signal,
      ...(options.timeLimitMs === undefined ? {} : { timeLimitMs: options.timeLimitMs }),
      onProgress: (job, state, elapsedMs) =>
        progress.update(() => progressText(named[job].scenario.name, state, elapsedMs)),
    },
  )
  if (options.save !== undefined) saveFirst(options.save, named, verdicts)
  const code = exitCodeOf(verdicts, options.require === 'exhaustive')
  return {
    command: 'explore',
    exitCode: signal.aborted ? exitCodes.interrupted : code,
    data: {
      seed: seedOf(options),
      verdicts: verdicts.map((verdict, index) => verdictData(named[index], verdict, options)),
    },
    text: (paint) => reportText(paint, named, verdicts, options),
  }
}

const seedOf = (options: OptionValues): number => Number((options.seed ?? 1n) & 0xffffffffn)

function checkOptions(options: OptionValues): PlainCheckOptions {
  const { maxStates, memory } = options
  return {
    reduction: options.reduction,
    seed: seedOf(options),
    ...(options.continue ? { continue: true } : {}),
    ...(maxStates === undefined ? {} : { statesMax: maxStates }),
    ...(memory === undefined ? {} : { memoryBytes: memory }),
  }
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
): void {
  const index = verdicts.findIndex(({ counterexamples }) => counterexamples.length > 0)
  if (index < 0) return
  const { scenario } = named[index]
  const { schedule } = verdicts[index].counterexamples[0]
  writeFileAtomically(
    file,
    traceText(replay(scenario, decodeSchedule(scenario, schedule)), schedule),
  )
}

const explanationOf = ({ scenario }: NamedScenario, { schedule }: Counterexample) =>
  explain(replay(scenario, decodeSchedule(scenario, schedule)))

const replayLine = ({ words }: NamedScenario, { schedule }: Counterexample): string =>
  ['npx ppcheck replay', quoted(schedule), ...words].join(' ')

function verdictData(named: NamedScenario, verdict: Verdict, options: OptionValues) {
  const { counterexamples, bytes: _bytes, ...rest } = verdict
  return {
    scenario: named.scenario.name,
    ...rest,
    counterexamples: counterexamples.map((counterexample) => ({
      ...counterexample,
      ...explanationOf(named, counterexample),
      replay: replayLine(named, counterexample),
    })),
    seed: seedOf(options),
  }
}

function reportText(
  paint: ChalkInstance,
  named: readonly NamedScenario[],
  verdicts: readonly Verdict[],
  options: OptionValues,
): string {
  const lines = [`seed     ${seedOf(options)}`]
  verdicts.forEach((verdict, index) => {
    const { scenario } = named[index]
    const { topology, device } = scenario
    lines.push(
      '',
      paint.bold(`${scenario.name}: pp ${topology.pp}, window ${topology.window}, `) +
        `${device.residentCollectives} resident, launch order ${device.launchOrder}`,
      ...verdictHead(paint, verdict),
    )
    for (const counterexample of verdict.counterexamples) {
      const explanation = explanationOf(named[index], counterexample)
      const line = replayLine(named[index], counterexample)
      lines.push(...counterexampleText(paint, counterexample, explanation, line))
    }
  })
  return lines.join('\n')
}
