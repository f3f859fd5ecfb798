// A run as a file, `*.pptrace.ndjson`: a header line that holds the whole scenario and the
// schedule, then one event a line. The header replays the run; the events are what it must do.

import { readFileSync, statSync } from 'node:fs'
import type { Trace, TraceEvent } from '../sim/replay.ts'
import { fail, PpcheckError } from '../spec/error.ts'
import { defineProtocol } from '../spec/program.ts'
import { defineScenario, type Scenario, type ScenarioInput } from '../spec/scenario.ts'
import { version } from './version.ts'

export const traceFormat = 'pptrace'
export const traceVersion = 1
const sizeMax = 64 * 2 ** 20

/** What a trace file says of itself. */
export interface RecordedTrace {
  readonly scenario: Scenario
  readonly schedule: string
  /** Properties that the run broke when it was recorded. */
  readonly violates: readonly string[]
  /** Which ppcheck recorded it. */
  readonly tool: string
  readonly events: readonly TraceEvent[]
}

/** The file's text. `seed` is what the search had that found the run. */
export function traceText(trace: Trace, schedule: string, seed: number): string {
  const head = {
    tool: `ppcheck ${version()}`,
    format: traceFormat,
    version: traceVersion,
    scenario: trace.scenario,
    seed,
    schedule,
    events: trace.events.length,
    violates: trace.findings.map(({ property }) => property),
  }
  return `${[head, ...trace.events].map((line) => JSON.stringify(line)).join('\n')}\n`
}

/** Does this argument look like a file and not like a schedule? */
export const looksLikeFile = (argument: string): boolean => !/^pp\d+:/.test(argument)

/**
 * Reads a trace file.
 * @throws PpcheckError PPC109 (cannot be read), PPC303 (not a trace, cut off, or another version).
 */
export function readTrace(file: string): RecordedTrace {
  const [first, ...lines] = textOf(file).split('\n')
  const head = parsed(file, first, 1)
  if (head['format'] !== traceFormat) fail('PPC303', `${file} is not a trace of ppcheck`)
  if (head['version'] !== traceVersion) {
    fail('PPC303', `${file} has version ${head['version']}, this ppcheck reads ${traceVersion}`)
  }
  const { scenario, schedule, violates } = head
  const isComplete = typeof schedule === 'string' && Array.isArray(violates)
  if (!isComplete || scenario === null || typeof scenario !== 'object') {
    return fail('PPC303', `${file}: the header has no scenario, schedule or violations`)
  }
  try {
    const input = scenario as ScenarioInput
    defineProtocol(input.protocol)
    const events = eventsOf(file, head['events'], lines)
    const tool = String(head['tool'])
    return {
      scenario: defineScenario(input),
      schedule,
      violates: violates.map(String),
      tool,
      events,
    }
  } catch (error) {
    if (error instanceof PpcheckError && error.code === 'PPC303') throw error
    const reason = error instanceof Error ? error.message : String(error)
    return fail('PPC303', `${file}: the scenario in it is not valid: ${reason}`)
  }
}

function textOf(file: string): string {
  try {
    const { size } = statSync(file)
    if (size > sizeMax) fail('PPC303', `${file} is larger than a trace can be`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof PpcheckError) throw error
    const { code } = error as NodeJS.ErrnoException
    const hint = 'give a schedule (pp1:…) or a trace file (explore --save)'
    return fail('PPC109', `cannot read ${file}: ${code ?? String(error)}`, hint)
  }
}

/** The events after the header: a file that was cut off must not pass for a whole one. */
function eventsOf(file: string, count: unknown, lines: readonly string[]): TraceEvent[] {
  const written = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  if (written.length !== count) {
    fail('PPC303', `${file} is not whole: it has ${written.length} events of ${count}`)
  }
  return written.map((line, index) => parsed(file, line, index + 2) as unknown as TraceEvent)
}

function parsed(file: string, line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (value !== null && typeof value === 'object') return value as Record<string, unknown>
  } catch {
    // Falls through to the one message for everything that is no JSON object.
  }
  return fail('PPC303', `${file} is not a trace: line ${number} is not a JSON object`)
}
