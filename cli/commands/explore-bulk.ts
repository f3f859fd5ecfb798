// `ppcheck explore --mode random --bulk`: schedules decided by a seed alone, over all cores. They
// take every interleaving and not only those that the reduction keeps, and they do not shrink.

import type { ChalkInstance } from 'chalk'
import { type Coverage, missed } from '../../sim/coverage.ts'
import { type Explanation, explainSchedule } from '../../sim/explain.ts'
import { excludedProbability } from '../../sim/property-run.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { fail } from '../../spec/error.ts'
import { propertyIds } from '../../spec/properties.ts'
import { type BulkResult, runBulk } from '../bulk-pool.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { flagName, type OptionValues, optionTable } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { type NamedScenario, replayLine, scenariosFrom } from '../scenario-source.ts'
import { seedOf } from '../search-options.ts'
import {
  counterexampleText,
  exitCodeOfBroken,
  spaced,
  violatedLines,
  wrapped,
} from '../verdict-text.ts'

const runsDefault = 100_000
const stepsDefault = 6

interface Sampled {
  readonly named: NamedScenario
  readonly result: BulkResult
  readonly explanation: Explanation | undefined
}

export async function runInBulk(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  for (const key of ['path', 'checkpoint', 'resume', 'save'] as const) {
    if (options[key] === undefined) continue
    fail('PPC107', `bulk runs have none: ${flagName(optionTable[key])} (--bulk)`)
  }
  const bounded = { ...options, steps: options.steps ?? stepsDefault }
  const all = await scenariosFrom(args, bounded)
  const seed = seedOf(options)
  const signal = invocation.interruptSignal()
  const sampled: Sampled[] = []
  for (const named of all) {
    const { scenario } = named
    const started = performance.now()
    const deadline = started + (options.timeLimitMs ?? Number.POSITIVE_INFINITY)
    const rateOf = (done: number): string =>
      spaced(Math.round((done / (performance.now() - started)) * 1000))
    const once = (): Promise<BulkResult> =>
      runBulk(scenario, {
        runs: options.runs ?? runsDefault,
        seed,
        shard: options.shard ?? { index: 0, count: 1 },
        workers: options.workers ?? 'auto',
        stop: (done) => {
          progress.update(
            () => `${scenario.name}: ${spaced(done)} schedules, ${rateOf(done)} a second`,
          )
          return signal.aborted || performance.now() > deadline
        },
      })
    const result = await once()
    const seconds = ((performance.now() - started) / 1000).toFixed(2)
    progress.note(`${scenario.name}: ${seconds} s, ${rateOf(result.runs)} schedules/s`)
    if (
      options.checkDeterminism === true &&
      JSON.stringify(await once()) !== JSON.stringify(result)
    ) {
      fail('PPC305', 'two runs with the same seed differ (--check-determinism)')
    }
    sampled.push({ named, result, explanation: explanationOf(named, result) })
    if (signal.aborted) break
  }
  const broken = sampled.flatMap(({ result }) =>
    (result.failure?.findings ?? []).map(({ property }) => property),
  )
  return {
    command: 'explore',
    exitCode: signal.aborted ? exitCodes.interrupted : exitCodeOfBroken(broken),
    data: {
      seed,
      interrupted: signal.aborted,
      sampled: sampled.map((each) => dataOf(each)),
    },
    text: (paint) =>
      [
        `seed     ${seed}`,
        ...(signal.aborted ? [paint.yellow('stopped  by Ctrl-C; this report is partial')] : []),
        ...sampled.flatMap((each) => textOf(paint, each, options)),
      ].join('\n'),
  }
}

function explanationOf(
  { scenario }: NamedScenario,
  { failure }: BulkResult,
): Explanation | undefined {
  if (failure === undefined) return undefined
  return explainSchedule(scenario, failure.schedule)
}

/** What was reached, kind by kind, and above all what never was. */
function coverageText(coverage: Coverage | undefined): string[] {
  if (coverage === undefined) return []
  const kindOf = (name: string): string => name.split(' ', 1)[0]
  const count = (names: readonly string[], kind: string): number =>
    names.filter((name) => kindOf(name) === kind).length
  const words = {
    transition: 'transitions of machines',
    operation: 'operations',
    batch: 'batches',
    fault: 'faults',
  }
  const parts = Object.entries(words).flatMap(([kind, plural]) => {
    const all = count(coverage.possible, kind)
    return all === 0 ? [] : [`${count(coverage.reached, kind)} of ${all} ${plural}`]
  })
  const never = missed(coverage).map((name) =>
    name.replace(/^(operation|transition|sometimes) /, ''),
  )
  const lines = [`reached  ${parts.join(', ')}`]
  if (never.length > 0) lines.push(...wrapped(`never    ${never.join('; ')}`))
  return lines
}

function dataOf({ named, result, explanation }: Sampled) {
  const { failure, runs, events } = result
  return {
    scenario: named.scenario.name,
    outcome: failure === undefined ? 'holds' : 'violated',
    scope: { kind: 'sampled', schedules: runs, reduction: 'none' },
    excludedFailureProbability: failure === undefined ? excludedProbability(runs) : null,
    events,
    ...(result.coverage === undefined
      ? {}
      : { reached: result.coverage.reached, never: missed(result.coverage) }),
    ...(failure === undefined
      ? {}
      : {
          failure: {
            ...failure,
            ...explanation,
            replay: replayLine(named.words, failure.schedule),
          },
        }),
  }
}

function textOf(
  paint: ChalkInstance,
  { named, result, explanation }: Sampled,
  { shard }: OptionValues,
): string[] {
  const { scenario, words } = named
  const { topology, workload } = scenario
  const { failure, runs, events } = result
  const part = shard === undefined ? '' : `, shard ${shard.index + 1} of ${shard.count}`
  const lines = [
    '',
    `${paint.bold(scenario.name)}: pp ${topology.pp}, window ${topology.window}, ` +
      `${workload.steps} steps, every interleaving${part}`,
  ]
  if (failure === undefined || explanation === undefined) {
    const percent = (100 * excludedProbability(runs)).toPrecision(2)
    return [
      ...lines,
      `${paint.green.bold('CLEAN')}    ${(scenario.properties ?? propertyIds).join(' ')}`,
      `scope    sampled: ${spaced(runs)} schedules; a failure in more than ${percent} % of ` +
        'them is excluded with 95 % confidence',
      `events   ${spaced(events)}`,
      ...coverageText(result.coverage),
    ]
  }
  const broken = failure.findings.map(({ property }) => property)
  lines.push(...violatedLines(paint, broken))
  lines.push(`scope    sampled: refuted by schedule ${spaced(runs)} (run ${failure.index})`)
  const { choices } = decodeSchedule(scenario, failure.schedule)
  const { findings } = failure
  const told = { property: findings[0].property, findings, choices, shortest: false }
  const shorter = ['npx ppcheck explore', ...words, '--mode random  # shrinks it'].join(' ')
  const both = `${replayLine(named.words, failure.schedule)}\n${shorter}`
  return [...lines, ...counterexampleText(paint, told, explanation, both)]
}
