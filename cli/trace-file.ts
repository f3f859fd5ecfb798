// A run as a file, `*.pptrace.ndjson`: a header line that holds the whole scenario and the
// schedule, then one event a line. The header alone replays the run; the events are for people.

import { readFileSync } from 'node:fs'
import type { Trace } from '../sim/replay.ts'
import { fail, PpcheckError } from '../spec/error.ts'
import { defineProtocol } from '../spec/program.ts'
import { defineScenario, type Scenario, type ScenarioInput } from '../spec/scenario.ts'
import { version } from './version.ts'

export const traceFormat = 'pptrace'
export const traceVersion = 1
const sizeMax = 64 * 2 ** 20

/** What a trace file says of itself. */
export interface TraceHeader {
  readonly scenario: Scenario
  readonly schedule: string
  /** Properties that the run broke when it was recorded. */
  readonly violates: readonly string[]
}

/** The file's text. */
export function traceText(trace: Trace, schedule: string): string {
  const head = {
    format: traceFormat,
    version: traceVersion,
    tool: `ppcheck ${version()}`,
    scenario: trace.scenario,
    schedule,
    violates: trace.findings.map(({ property }) => property),
  }
  return `${[head, ...trace.events].map((line) => JSON.stringify(line)).join('\n')}\n`
}

/** Does this argument look like a file and not like a schedule? */
export const looksLikeFile = (argument: string): boolean => !/^pp\d+:/.test(argument)

/**
 * Reads a trace file's header.
 * @throws PpcheckError PPC109 (cannot be read), PPC303 (not a trace, cut off, or another version).
 */
export function readTrace(file: string): TraceHeader {
  let text: string
  try {
    const bytes = readFileSync(file)
    if (bytes.length > sizeMax) fail('PPC303', `${file} is larger than a trace can be`)
    text = bytes.toString('utf8')
  } catch (error) {
    if (error instanceof PpcheckError) throw error
    const { code } = error as NodeJS.ErrnoException
    return fail('PPC109', `cannot read ${file}: ${code ?? String(error)}`)
  }
  const [first] = text.split('\n', 1)
  const head = parsed(file, first)
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
    return { scenario: defineScenario(input), schedule, violates: violates.map(String) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail('PPC303', `${file}: the scenario in it is not valid: ${reason}`)
  }
}

function parsed(file: string, line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line)
    if (value !== null && typeof value === 'object') return value as Record<string, unknown>
  } catch {
    // Falls through to the one message for everything that is no JSON object.
  }
  return fail('PPC303', `${file} is not a trace: its first line is not a JSON object`)
}
