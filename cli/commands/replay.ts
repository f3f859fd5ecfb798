// `ppcheck replay`: runs one schedule again, through XState itself, and says what it broke. A trace
// file needs nothing else; a schedule string needs the options of its replay line.

import type { ChalkInstance } from 'chalk'
import { explain } from '../../sim/explain.ts'
import { replay, type Trace, type TraceEvent } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { fail } from '../../spec/error.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { quoted, scenarioFlags, scenariosFrom } from '../scenario-source.ts'
import { looksLikeFile, type RecordedTrace, readTrace } from '../trace-file.ts'
import { counterexampleText, exitCodeOfBroken } from '../verdict-text.ts'

export async function run({ args, options }: Invocation): Promise<Report> {
  const [first, ...rest] = args
  const source = looksLikeFile(first)
    ? fromFile(first, rest, options)
    : await fromSchedule(first, rest, options)
  const { scenario, schedule, recorded } = source
  const trace = replay(scenario, decodeSchedule(scenario, schedule))
  const differences = recorded === undefined ? [] : differencesFrom(recorded, trace)
  const broken = trace.findings.map(({ property }) => property)
  return {
    command: 'replay',
    exitCode: differences.length > 0 ? exitCodes.nondeterminism : exitCodeOfBroken(broken),
    data: {
      schedule,
      scenario: scenario.name,
      dispatched: trace.dispatched,
      choicesLeft: trace.choicesLeft,
      differences,
      findings: trace.findings,
      ...explain(trace),
      events: trace.events,
    },
    text: (paint) => textOf(paint, trace, source, differences, options.step === true),
  }
}

interface Source {
  readonly scenario: Scenario
  readonly schedule: string
  /** What a file says the run did; a schedule string says only how to run it. */
  readonly recorded: RecordedTrace | undefined
  /** The words of a command line that does this again. */
  readonly words: readonly string[]
}

function fromFile(file: string, rest: readonly string[], options: OptionValues): Source {
  const [flag] = scenarioFlags(options)
  if (rest.length > 0 || flag !== undefined) {
    fail('PPC107', `${file} is a trace and holds its scenario: leave out ${rest[0] ?? flag}`)
  }
  const recorded = readTrace(file)
  const { scenario, schedule } = recorded
  return { scenario, schedule, recorded, words: [quoted(file)] }
}

async function fromSchedule(
  schedule: string,
  rest: readonly string[],
  options: OptionValues,
): Promise<Source> {
  const [found, ...more] = await scenariosFrom(rest, options)
  if (more.length > 0) {
    const hint = 'choose one of a list with file#2'
    fail('PPC107', 'a schedule belongs to one scenario, several are given', hint)
  }
  const { scenario, words } = found
  return { scenario, schedule, recorded: undefined, words: [quoted(schedule), ...words] }
}

/** How the run differs from what was recorded, in sentences; none if it is the same run. */
function differencesFrom(recorded: RecordedTrace, trace: Trace): string[] {
  const broken: readonly string[] = trace.findings.map(({ property }) => property)
  const missing = recorded.violates.filter((property) => !broken.includes(property))
  const differences: string[] = []
  if (missing.length > 0) {
    differences.push(`the recorded run broke ${missing.join(', ')}; this one does not`)
  }
  const length = Math.max(recorded.events.length, trace.events.length)
  for (let at = 0; at < length; at++) {
    const [before, now] = [eventText(recorded.events[at]), eventText(trace.events[at])]
    if (before === now) continue
    differences.push(
      `event ${at + 1} was recorded by ${recorded.tool} as "${before}" and is now "${now}"`,
    )
    break
  }
  return differences
}

const eventText = (event: TraceEvent | undefined): string => {
  if (event === undefined) return 'nothing'
  const { text, choice } = event
  return choice === undefined ? text : `${text} [choice ${choice.index} of ${choice.of}]`
}

function textOf(
  paint: ChalkInstance,
  trace: Trace,
  { schedule, words }: Source,
  differences: readonly string[],
  step: boolean,
): string {
  const lines = [
    `replayed ${trace.events.length} events of ${trace.scenario.name}, ` +
      `${trace.dispatched} steps dispatched; XState and the tables agree on every one`,
  ]
  if (step) {
    lines.push('')
    for (const event of trace.events) {
      lines.push(`${String(event.number).padStart(5)}  ${eventText(event)}`)
    }
  }
  if (trace.choicesLeft > 0) {
    lines.push(paint.yellow(`${trace.choicesLeft} choices of the schedule were never asked for`))
  }
  for (const difference of differences) lines.push(paint.red(difference))
  if (trace.findings.length === 0) return [...lines, 'no property is broken in this run'].join('\n')
  const { choices } = decodeSchedule(trace.scenario, schedule)
  const { findings } = trace
  const told = { property: findings[0].property, findings, choices }
  const line = ['npx ppcheck replay', ...words].join(' ')
  return [...lines, ...counterexampleText(paint, told, explain(trace), line)].join('\n')
}
