// `ppcheck gate`: checks what ppcheck.config.ts lists and compares with the committed expectations.
// Any difference fails: a verdict, a scope, a counterexample, and also a state count that changed.

import { dirname, join, relative } from 'node:path'
import type { ChalkInstance } from 'chalk'
import { fail } from '../../spec/error.ts'
import { entryName, type GateEntry } from '../../spec/gate-config.ts'
import { properties } from '../../spec/properties.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import {
  differences,
  type ExpectedVerdict,
  expectedOf,
  readExpectations,
  writeExpectations,
} from '../expectations.ts'
import { loadConfig } from '../gate-config.ts'
import type { OptionValues } from '../options.ts'
import { checkAll, type ExplainedVerdict } from '../pool.ts'
import { checksMarkdown } from '../reporters/checks-markdown.ts'
import type { CheckResult, Report } from '../reporters/report.ts'
import { type NamedScenario, replayLine, scenariosFrom } from '../scenario-source.ts'
import { poolOptions } from '../search-options.ts'
import { scopeText, spaced, standingText, wrapped } from '../verdict-text.ts'

const statesMaxDefault = 2_000_000

interface Item {
  readonly name: string
  readonly entry: GateEntry
  readonly named: NamedScenario
}

interface Judged {
  readonly item: Item
  readonly verdict: ExplainedVerdict
  readonly actual: ExpectedVerdict
  readonly expected: ExpectedVerdict | undefined
  /** What is not as it should be, in words. */
  readonly wrong: readonly string[]
  readonly milliseconds: number
}

export async function run(invocation: Invocation): Promise<Report> {
  const { options, progress } = invocation
  const file = options.config ?? 'ppcheck.config.ts'
  const config = await loadConfig(file)
  const path = join(dirname(file), config.expected)
  const expectations = readExpectations(path)
  const items = await itemsOf(config.scenarios, options)
  const signal = invocation.interruptSignal()
  const { verdicts, elapsedMs } = await checkAll(
    items.map(({ entry, named }) => ({
      scenario: named.scenario,
      options: { statesMax: entry.maxStates ?? statesMaxDefault },
      explain: true,
    })),
    {
      ...poolOptions(options, signal),
      onDone: (finished) =>
        progress.update(() => `gate: ${finished} of ${items.length} scenarios checked`),
    },
  )
  const isPartial = verdicts.some(isStopped)
  const judged = items.map((item, index): Judged => {
    const verdict = verdicts[index]
    const actual = expectedOf(verdict)
    const expected = expectations.get(item.name)
    const wrong = wrongOf(item.entry, verdict, actual, expected, options.update === true)
    return { item, verdict, actual, expected, wrong, milliseconds: elapsedMs[index] }
  })
  const names = new Set(items.map(({ name }) => name))
  const stale = [...expectations.keys()].filter((name) => !names.has(name))
  if (options.update === true && !isPartial) {
    writeExpectations(path, new Map(judged.map(({ item, actual }) => [item.name, actual])))
  }
  const checks = [
    ...judged.map((each) => checkOf(each, relative(process.cwd(), file))),
    ...(options.update === true ? [] : stale.map((name) => staleCheck(name, file))),
  ]
  const failed = checks.some(({ outcome }) => outcome === 'failed')
  return {
    command: 'gate',
    exitCode: exitCodeOf(signal.aborted, isPartial, failed),
    data: {
      config: file,
      expected: path,
      updated: options.update === true && !isPartial,
      partial: isPartial,
      scenarios: judged.map(({ item, actual, expected, wrong }) => ({
        name: item.name,
        ...actual,
        expected: expected ?? null,
        wrong,
      })),
      stale,
    },
    checks,
    markdown: () => checksMarkdown('ppcheck gate', checks),
    text: (paint) => reportText(paint, judged, stale, path, options.update === true, isPartial),
  }
}

function exitCodeOf(interrupted: boolean, partial: boolean, failed: boolean): ExitCode {
  if (interrupted) return exitCodes.interrupted
  if (failed) return exitCodes.violated
  return partial ? exitCodes.inconclusive : exitCodes.holds
}

async function itemsOf(
  entries: readonly GateEntry[],
  options: OptionValues,
): Promise<readonly Item[]> {
  const items: Item[] = []
  for (const entry of entries) {
    const { scenario, properties: property, expect: _, maxStates: __, name: ___, ...rest } = entry
    const own = { ...rest, ...(property === undefined ? {} : { property }) }
    const given = { color: options.color, ...own } as unknown as OptionValues
    const found = await scenariosFrom([scenario], given)
    const base = entryName(entry)
    for (const named of found) {
      // A file that exports several scenarios gives several entries.
      const name = found.length > 1 ? `${base} (${named.scenario.name})` : base
      items.push({ name, entry, named })
    }
  }
  const seen = new Set<string>()
  for (const { name } of items) {
    if (seen.has(name)) fail('PPC107', `two scenarios are called ${JSON.stringify(name)}`)
    seen.add(name)
  }
  return items
}

function wrongOf(
  entry: GateEntry,
  verdict: ExplainedVerdict,
  actual: ExpectedVerdict,
  expected: ExpectedVerdict | undefined,
  isUpdate: boolean,
): string[] {
  const wrong: string[] = []
  if (entry.expect !== undefined && verdict.outcome !== 'inconclusive') {
    const came = verdict.outcome === 'holds' ? 'holds' : actual.violated.join(', ')
    const isMet =
      entry.expect === 'holds' ? came === 'holds' : actual.violated.includes(entry.expect)
    if (!isMet) wrong.push(`must be ${entry.expect}, is ${came}`)
  }
  if (isUpdate) return wrong
  if (expected === undefined) wrong.push('has no committed expectation (ppcheck gate --update)')
  else if (!isStopped(verdict)) wrong.push(...differences(expected, actual))
  return wrong
}

const isStopped = ({ scope }: ExplainedVerdict): boolean =>
  scope.kind === 'bounded' && scope.reason === 'stopped'

const verdictText = ({ outcome, counterexamples: [first], scope }: ExplainedVerdict): string =>
  first === undefined
    ? `${outcome}, ${scopeText(scope)}`
    : `violates ${first.property} ${properties[first.property].name}`

function checkOf(judged: Judged, file: string): CheckResult {
  const { item, verdict, wrong, milliseconds } = judged
  const [first] = verdict.counterexamples
  const outcome = wrong.length > 0 ? 'failed' : isStopped(verdict) ? 'undecided' : 'passed'
  const message =
    wrong.length > 0 ? `${wrong.join('; ')} (${verdictText(verdict)})` : verdictText(verdict)
  return {
    name: item.name,
    outcome,
    message,
    rule: first === undefined ? 'expectation' : first.property,
    details: detailsOf(judged).join('\n'),
    file,
    steps: first?.explanation?.standing.map((text, rank) => `rank ${rank}: ${text}`) ?? [],
    milliseconds,
  }
}

/** The story of a violation, and the line that replays it. */
function detailsOf({ item, verdict }: Judged): string[] {
  const [first] = verdict.counterexamples
  if (first?.explanation === undefined) return [`${spaced(verdict.states)} states`]
  const { story, standing, hazard } = first.explanation
  return [
    ...wrapped(story),
    ...standingText(standing),
    replayLine(item.named.words, first.schedule),
    ...(hazard === undefined ? [] : [`${hazard.id} ${hazard.name}. Fix: ${hazard.fix}.`]),
  ]
}

const staleCheck = (name: string, file: string): CheckResult => ({
  name,
  outcome: 'failed',
  message: 'is expected and no longer listed (ppcheck gate --update)',
  rule: 'expectation',
  details: '',
  file: relative(process.cwd(), file),
  steps: [],
  milliseconds: 0,
})

function reportText(
  paint: ChalkInstance,
  judged: readonly Judged[],
  stale: readonly string[],
  path: string,
  isUpdate: boolean,
  isPartial: boolean,
): string {
  const lines: string[] = []
  for (const each of judged) {
    const { item, verdict, wrong, actual, expected } = each
    const passed = wrong.length === 0
    const sign = passed
      ? isStopped(verdict)
        ? paint.yellow('?')
        : paint.green('✓')
      : paint.red('✗')
    lines.push(`${sign} ${item.name}: ${verdictText(verdict)}, ${spaced(verdict.states)} states`)
    if (isUpdate) {
      const changed = expected === undefined ? ['new'] : differences(expected, actual)
      lines.push(...changed.map((text) => `    ${text}`))
    }
    for (const text of wrong) lines.push(paint.red(`    ${text}`))
    if (!passed) lines.push(...detailsOf(each).map((text) => `    ${text}`))
  }
  for (const name of stale) {
    const what = isUpdate ? 'no longer listed: removed' : 'is expected and no longer listed'
    lines.push(isUpdate ? `- ${name}: ${what}` : `${paint.red('✗')} ${name}: ${what}`)
  }
  const failed = judged.filter(({ wrong }) => wrong.length > 0).length
  const missing = isUpdate ? 0 : stale.length
  lines.push('', `${judged.length - failed} of ${judged.length + missing} as expected`)
  if (isUpdate) lines.push(isPartial ? `${path} is left as it was` : `written: ${path}`)
  if (isPartial) lines.push(paint.yellow('stopped early; this report is partial'))
  return lines.join('\n')
}
