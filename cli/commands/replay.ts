// `ppcheck replay`: runs one schedule again, through XState itself, and says what it broke. A trace
// file needs nothing else; a schedule string needs the options of its replay line.

import type { ChalkInstance } from 'chalk'
import { explain } from '../../sim/explain.ts'
import { replay, type Trace } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import type { Counterexample } from '../../sim/search/check.ts'
import { fail } from '../../spec/error.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'
import { quoted, scenariosFrom } from '../scenario-source.ts'
import { looksLikeFile, readTrace } from '../trace-file.ts'
import { counterexampleText } from '../verdict-text.ts'

export async function run({ args, options }: Invocation): Promise<Report> {
  const [first, ...rest] = args
  const source = looksLikeFile(first)
    ? fromFile(first, rest, options.variant)
    : await fromSchedule(first, rest, options)
  const { scenario, schedule, expected, words } = source
  const trace = replay(scenario, decodeSchedule(scenario, schedule))
  const broken = trace.findings.map(({ property }) => property)
  const missing = expected.filter((property) => !broken.includes(property as never))
  const exitCode = missing.length > 0 ? exitCodes.nondeterminism : exitOf(trace)
  const explanation = explain(trace)
  return {
    command: 'replay',
    exitCode,
    data: { schedule, events: trace.events, findings: trace.findings, missing, ...explanation },
    text: (paint) => textOf(paint, trace, schedule, words, missing, options.step === true),
  }
}

interface Source {
  readonly scenario: Trace['scenario']
  readonly schedule: string
  /** What the run broke when it was recorded. */
  readonly expected: readonly string[]
  readonly words: readonly string[]
}

function fromFile(file: string, rest: readonly string[], variant: string | undefined): Source {
  if (rest.length > 0 || variant !== undefined) {
    fail('PPC107', `${file} is a trace and holds its scenario: give no other`)
  }
  const { scenario, schedule, violates } = readTrace(file)
  return { scenario, schedule, expected: violates, words: [quoted(file)] }
}

async function fromSchedule(
  schedule: string,
  rest: readonly string[],
  options: Invocation['options'],
): Promise<Source> {
  const [found, ...more] = await scenariosFrom(rest, options)
  if (more.length > 0) fail('PPC107', 'a schedule belongs to one scenario, several are given')
  const { scenario, words } = found
  return { scenario, schedule, expected: [], words: [quoted(schedule), ...words] }
}

function exitOf({ findings }: Trace): ExitCode {
  const broken = findings.map(({ property }) => property)
  if (broken.includes('P1') || broken.includes('P10')) return exitCodes.deadlock
  if (broken.includes('P6')) return exitCodes.livelock
  return broken.length > 0 ? exitCodes.violated : exitCodes.holds
}

function textOf(
  paint: ChalkInstance,
  trace: Trace,
  schedule: string,
  words: readonly string[],
  missing: readonly string[],
  step: boolean,
): string {
  const lines = [
    `replayed ${trace.events.length} events of ${trace.scenario.name}, ` +
      `${trace.dispatched} steps dispatched; XState and the tables agree on every one`,
  ]
  if (step) {
    lines.push('')
    for (const { number, text, choice } of trace.events) {
      const mark = choice === undefined ? '' : ` [choice ${choice.index} of ${choice.of}]`
      lines.push(`${String(number).padStart(5)}  ${text}${mark}`)
    }
  }
  if (trace.choicesLeft > 0) {
    lines.push(paint.yellow(`${trace.choicesLeft} choices of the schedule were never asked for`))
  }
  if (missing.length > 0) {
    lines.push(paint.red(`the recorded run broke ${missing.join(', ')}; this one does not`))
  }
  if (trace.findings.length === 0) return [...lines, 'no property is broken'].join('\n')
  const { choices } = decodeSchedule(trace.scenario, schedule)
  const counterexample: Counterexample = {
    property: trace.findings[0].property,
    findings: trace.findings,
    choices,
    schedule,
    shortest: false,
  }
  const line = ['npx ppcheck replay', ...words].join(' ')
  const told = counterexampleText(paint, counterexample, explain(trace), line)
  return [...lines, ...told].join('\n')
}
