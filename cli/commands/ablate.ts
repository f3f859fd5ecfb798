// `ppcheck ablate`: every subset of a scenario's fixes is checked. What is printed are the minimal
// sets that make all properties hold, and what each missing fix leaves open.

import type { ChalkInstance } from 'chalk'
import {
  type Ablation,
  byLevel,
  defineAblation,
  harmful,
  idsOf,
  minimalSufficient,
  scenariosOf,
} from '../../sim/ablation.ts'
import { fail } from '../../spec/error.ts'
import { properties } from '../../spec/properties.ts'
import { reportFixes, scenarioWithFixes } from '../../spec/protocols/fixes.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { flagName, type OptionValues, optionTable } from '../options.ts'
import { checkAll, type ExplainedVerdict } from '../pool.ts'
import type { Report } from '../reporters/report.ts'
import { loadFile } from '../scenario-source.ts'
import { poolOptions, searchOptions } from '../search-options.ts'
import { spaced, wrapped } from '../verdict-text.ts'

const statesMaxDefault = 2_000_000

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const ablation = args.length > 0 ? await fromFile(args[0], options) : fromReport(options)
  const scenarios = scenariosOf(ablation)
  const signal = invocation.interruptSignal()
  const { verdicts } = await checkAll(
    scenarios.map((scenario) => ({
      scenario,
      options: searchOptions(options, statesMaxDefault),
      explain: true,
    })),
    {
      ...poolOptions(options, signal),
      onDone: (finished) =>
        progress.update(() => `ablate: ${finished} of ${scenarios.length} subsets checked`),
    },
  )
  const outcomes = verdicts.map(({ outcome }) => outcome)
  const minimal = minimalSufficient(outcomes)
  const open = outcomes.filter((outcome) => outcome === 'inconclusive').length
  const isShort = open > 0 && options.require === 'exhaustive'
  return {
    command: 'ablate',
    exitCode: signal.aborted
      ? exitCodes.interrupted
      : isShort
        ? exitCodes.inconclusive
        : exitCodes.holds,
    data: {
      name: ablation.name,
      interrupted: signal.aborted,
      fixes: ablation.fixes,
      subsets: verdicts.map((verdict, subset) => ({
        fixes: idsOf(ablation, subset),
        outcome: verdict.outcome,
        states: verdict.states,
        ...brokenOf(verdict),
      })),
      minimal: minimal.map((subset) => idsOf(ablation, subset)),
      harmful: harmful(outcomes, ablation.fixes.length).map(({ subset, fix }) => ({
        holds: idsOf(ablation, subset),
        brokenBy: ablation.fixes[fix].id,
      })),
    },
    text: (paint) => reportText(paint, ablation, scenarios[0], verdicts, minimal),
  }
}

function fromReport(options: OptionValues): Ablation {
  const { pp, window, draftsPerStep, resident, hardwareQueues, eager, metadata } = options
  const defined = <T extends object>(fields: T): T =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
  return {
    name: "the field report's fixes",
    fixes: reportFixes,
    scenario: (applied) =>
      scenarioWithFixes(applied, {
        ...defined({ pp, window, drafts: draftsPerStep }),
        device: defined({ residentCollectives: resident, hardwareQueues, eager }),
        ...(metadata === undefined ? {} : { switches: { activationMetadata: metadata } }),
      }),
  }
}

/** A file builds its scenarios itself: what would change them is no option then. */
const reportOnly = [
  'pp',
  'window',
  'resident',
  'metadata',
  'hardwareQueues',
  'eager',
  'draftsPerStep',
] as const

async function fromFile(file: string, options: OptionValues): Promise<Ablation> {
  for (const key of reportOnly) {
    if (options[key] === undefined) continue
    const flag = flagName(optionTable[key])
    fail('PPC107', `${flag} changes the report's scenario; ${file} builds its own`)
  }
  const loaded = await loadFile(file)
  if (loaded['default'] === undefined) {
    fail('PPC111', `${file} has no default export`, 'export default defineAblation({ … })')
  }
  return defineAblation(loaded['default'] as Ablation)
}

const brokenOf = ({ counterexamples: [first] }: ExplainedVerdict) =>
  first === undefined
    ? {}
    : { property: first.property, hazard: first.explanation?.hazard?.id ?? null }

/** `P1 deadlock-freedom, H5 draft-graph-stall`. */
function leftOpen({ outcome, counterexamples: [first] }: ExplainedVerdict): string {
  if (first === undefined) return outcome === 'holds' ? 'nothing' : 'not decided'
  const hazard = first.explanation?.hazard
  const name = `${first.property} ${properties[first.property].name}`
  return hazard === undefined ? name : `${name}, ${hazard.id} ${hazard.name}`
}

function reportText(
  paint: ChalkInstance,
  ablation: Ablation,
  { topology, device }: ReturnType<typeof scenariosOf>[number],
  verdicts: readonly ExplainedVerdict[],
  minimal: readonly number[],
): string {
  const { fixes } = ablation
  const states = verdicts.reduce((sum, verdict) => sum + verdict.states, 0)
  const all = verdicts.length - 1
  const width = Math.max(...fixes.map(({ id }) => id.length))
  const lines = [
    paint.bold(`Ablation of ${ablation.name}: ${verdicts.length} subsets of ${fixes.length}`),
    `pp ${topology.pp}, ${device.residentCollectives} resident; any run length where it holds; ` +
      `${spaced(states)} states in all`,
    '',
    ...fixes.map(({ id, summary }) => `${id.padEnd(width)}  ${summary}`),
    '',
    paint.bold('All subsets, by the number of fixes (● holds, · violated, ? not decided)'),
    ...latticeText(paint, verdicts, fixes.length),
    '',
    paint.bold('Minimal sets that make all properties hold'),
    ...(minimal.length === 0
      ? ['none']
      : minimal.map((subset, index) => `${index + 1}. ${idsOf(ablation, subset).join(' + ')}`)),
  ]
  minimal.forEach((subset, index) => {
    for (const [at, { id }] of fixes.entries()) {
      if (!(subset & (1 << at))) continue
      const text = `   ${index + 1} without ${id}: ${leftOpen(verdicts[subset & ~(1 << at)])}`
      lines.push(...wrapped(text))
    }
  })
  lines.push('', paint.bold('What one missing fix leaves open, all others applied'))
  fixes.forEach(({ id }, at) => {
    lines.push(`${id.padEnd(width)}  ${leftOpen(verdicts[all & ~(1 << at)])}`)
  })
  lines.push('', paint.bold('What one fix alone leaves open'))
  fixes.forEach(({ id }, at) => {
    lines.push(`${id.padEnd(width)}  ${leftOpen(verdicts[1 << at])}`)
  })
  const worse = harmful(
    verdicts.map(({ outcome }) => outcome),
    fixes.length,
  )
  if (worse.length > 0) {
    lines.push('', paint.bold('Fixes that break what held without them'))
    for (const { subset, fix } of worse) {
      const with_ = verdicts[subset | (1 << fix)]
      const sets = idsOf(ablation, subset).join(' + ') || 'nothing'
      lines.push(...wrapped(`${sets}, and then ${fixes[fix].id}: ${leftOpen(with_)}`))
    }
  }
  return lines.join('\n')
}

/** One row for each number of fixes, centred: the lattice as a diamond. */
function latticeText(
  paint: ChalkInstance,
  verdicts: readonly ExplainedVerdict[],
  count: number,
): string[] {
  const sign = { holds: paint.green('●'), violated: paint.red('·'), inconclusive: '?' }
  const levels = byLevel(count)
  const widest = Math.max(...levels.map((level) => level.length))
  return levels.map((level, size) => {
    const indent = ' '.repeat(widest - level.length)
    return `${size}  ${indent}${level.map((subset) => sign[verdicts[subset].outcome]).join(' ')}`
  })
}
