// `ppcheck ladder`: the field report's six rungs under one device assumption in full, and under
// every assumption in short: what each fix buys, what remains, and which assumptions agree with
// what was seen on hardware.

import type { ChalkInstance } from 'chalk'
import type { Assumption, Consistency, Outcome } from '../../sim/assumptions.ts'
import {
  assumptionGrid,
  compareWith,
  defaultAssumption,
  overridesOf,
  predicted,
} from '../../sim/assumptions.ts'
import { explainSchedule } from '../../sim/explain.ts'
import type { Verdict } from '../../sim/search/check.ts'
import { fail } from '../../spec/error.ts'
import type { PropertyId } from '../../spec/properties.ts'
import { properties } from '../../spec/properties.ts'
import { batchChoices, fieldScenario, ladder as rungs } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import { checkAll } from '../pool.ts'
import type { Report } from '../reporters/report.ts'
import { checkSteps } from '../scenario-source.ts'
import { poolOptions, searchOptions } from '../search-options.ts'
import { scopeText, wrapped } from '../verdict-text.ts'

/** What decides a rung. P11 is told apart: an int32 header raises, it does not freeze. */
const ladderProperties: readonly PropertyId[] = ['P1', 'P2', 'P3', 'P6', 'P7', 'P10', 'P12']
const statesMaxDefault = 2_000_000
/** Where header types are checked: a header does not depend on the number of ranks. */
const headerPp = 2

interface Cell {
  readonly assumption: Assumption
  readonly rung: number
  readonly scenario: Scenario
}

export async function run(invocation: Invocation): Promise<Report> {
  const { options, progress } = invocation
  checkSteps(options)
  const pp = options.pp ?? 8
  const observed = observations(options)
  const shown = shownAssumption(options)
  const grid = gridOf(options, shown)
  const cells = grid.flatMap((assumption) => cellsOf(assumption, pp, options))
  const headerCells = rungs.map(({ id }) =>
    fieldScenario(id, { pp: headerPp, properties: ['P11'], ...switchesOf(options) }),
  )
  const jobs = [...cells.map(({ scenario }) => scenario), ...headerCells].map((scenario) => ({
    scenario,
    options: searchOptions(options, statesMaxDefault),
  }))
  const signal = invocation.interruptSignal()
  const { verdicts, elapsedMs } = await checkAll(jobs, {
    ...poolOptions(options, signal),
    onDone: (finished) =>
      progress.update(() => `ladder: ${finished} of ${jobs.length} searches done`),
  })
  const consistency = grid.map((assumption, index) => {
    const row = verdicts.slice(index * rungs.length, (index + 1) * rungs.length)
    return compareWith(assumption, row.map(predicted), observed)
  })
  const at = grid.findIndex((assumption) => sameAssumption(assumption, shown)) * rungs.length
  const rows = rungs.map((variant, rung) => {
    const verdict = verdicts[at + rung]
    return {
      rung,
      variant: variant.id,
      window: cells[at + rung].scenario.topology.window,
      observed: observed[rung],
      verdict,
      elapsedMs: elapsedMs[at + rung],
      remains: remaining(cells[at + rung].scenario, verdict),
    }
  })
  const narrow = rungs.filter((_, rung) => verdicts[cells.length + rung].outcome === 'violated')
  const inconclusive = verdicts.some(({ outcome }) => outcome === 'inconclusive')
  return {
    command: 'ladder',
    exitCode: signal.aborted
      ? exitCodes.interrupted
      : options.require === 'exhaustive' && inconclusive
        ? exitCodes.inconclusive
        : exitCodes.holds,
    data: {
      pp,
      observed,
      assumption: shown,
      rungs: rows.map(({ verdict, elapsedMs, ...row }) => ({
        ...row,
        verdict: dataOf(verdict),
        ...(options.timing ? { elapsedMs: Math.round(elapsedMs) } : {}),
      })),
      assumptions: consistency,
      headerNotRepresentable: narrow.map(({ id }) => id),
    },
    text: (paint) => textOf(paint, { pp, shown, observed, rows, consistency, narrow, options }),
  }
}

interface Row {
  readonly rung: number
  readonly variant: string
  readonly window: number
  readonly observed: Outcome
  readonly verdict: Verdict
  readonly elapsedMs: number
  readonly remains: string
}

const dataOf = ({ bytes: _bytes, rankStates: _rankStates, ...verdict }: Verdict) => verdict

function observations(options: OptionValues): readonly Outcome[] {
  const field = rungs.map(({ field }) => field ?? 'wedge')
  const { observed } = options
  if (observed === undefined) return field
  if (observed.length !== rungs.length) {
    fail(
      'PPC102',
      `--observed needs ${rungs.length} outcomes, one for each rung, got ${observed.length}`,
      `for example ${field.join(',')}`,
    )
  }
  return observed
}

/** The assumption that is shown in full: the default, as far as it is not overridden. */
const shownAssumption = (options: OptionValues): Assumption => ({
  resident: options.resident ?? defaultAssumption.resident,
  metadata: options.metadata ?? defaultAssumption.metadata,
  launchOrder: options.launchOrder ?? defaultAssumption.launchOrder,
})

/** All assumptions, restricted to those that the options name. */
function gridOf(options: OptionValues, shown: Assumption): Assumption[] {
  const grid = assumptionGrid({
    resident: options.resident === undefined ? [1, 2, 3] : [options.resident],
    metadata: options.metadata === undefined ? ['none', 'rendezvous'] : [options.metadata],
    launchOrder:
      options.launchOrder === undefined ? ['free', 'host-program'] : [options.launchOrder],
  })
  return grid.some((assumption) => sameAssumption(assumption, shown)) ? grid : [shown, ...grid]
}

const sameAssumption = (a: Assumption, b: Assumption): boolean =>
  a.resident === b.resident && a.metadata === b.metadata && a.launchOrder === b.launchOrder

/** Protocol switches given on the command line, as overrides of every rung. */
function switchesOf(options: OptionValues) {
  const { transport, headerCheck, receive, send, draft } = options
  const { activationCommunicator, tokenCommunicator } = options
  return {
    switches: {
      ...(transport === undefined ? {} : { transport }),
      ...(headerCheck === undefined ? {} : { headerCheck }),
      ...(receive === undefined ? {} : { receive }),
      ...(send === undefined ? {} : { send }),
      ...(draft === undefined ? {} : { draftExecution: draft }),
      ...(activationCommunicator === undefined ? {} : { activationCommunicator }),
      ...(tokenCommunicator === undefined ? {} : { tokenCommunicator }),
    },
  }
}

function cellsOf(assumption: Assumption, pp: number, options: OptionValues): Cell[] {
  const { device, switches } = overridesOf(assumption)
  return rungs.map(({ id }, rung) => ({
    assumption,
    rung,
    scenario: fieldScenario(id, {
      pp,
      ...(options.window === undefined ? {} : { window: options.window }),
      ...(options.draftsPerStep === undefined ? {} : { drafts: options.draftsPerStep }),
      properties: [...ladderProperties],
      switches: { ...switches, ...switchesOf(options).switches },
      device: {
        ...device,
        ...(options.hardwareQueues === undefined ? {} : { hardwareQueues: options.hardwareQueues }),
        ...(options.eager === undefined ? {} : { eager: options.eager }),
      },
      ...(options.steps === undefined
        ? {}
        : {
            workload: {
              steps: options.steps,
              choices: batchChoices(rungs[rung]),
            },
          }),
    }),
  }))
}

/** The hazard that is left, read off the counterexample; – where nothing is left. */
function remaining(scenario: Scenario, verdict: Verdict): string {
  const [counterexample] = verdict.counterexamples
  if (counterexample === undefined) return verdict.outcome === 'inconclusive' ? '?' : '–'
  const { hazard } = explainSchedule(scenario, counterexample.schedule)
  return hazard === undefined ? 'not one of H1..H5' : `${hazard.id} ${hazard.name}`
}

function textOf(
  paint: ChalkInstance,
  result: {
    readonly pp: number
    readonly shown: Assumption
    readonly observed: readonly Outcome[]
    readonly rows: readonly Row[]
    readonly consistency: readonly Consistency[]
    readonly narrow: readonly { readonly id: string; readonly rung: number | undefined }[]
    readonly options: OptionValues
  },
): string {
  const { pp, shown, rows, consistency, narrow, options } = result
  const lines = [
    paint.bold(`The field report's ladder at PP${pp}, K = ${options.draftsPerStep ?? 5}`),
    `assuming ${assumptionText(shown)}; any run, full or empty masks, with or without proposal`,
    '',
    ...rungTable(paint, rows, options.timing !== false),
    '',
  ]
  for (const { id, rung } of narrow) {
    const text =
      `rung ${rung} (${id}) also violates P11 ${properties.P11.name}: ${properties.P11.why}` +
      ` (a header does not depend on pp: decided at pp ${headerPp})`
    lines.push(...wrapped(text))
  }
  if (narrow.length > 0) lines.push('')
  lines.push(...assumptionTable(paint, result), '')
  const agreeing = consistency.filter(({ consistent }) => consistent)
  lines.push(
    ...(agreeing.length === 0
      ? ['No assumption of the table agrees with all observations.']
      : [
          'Consistent with all observations:',
          ...agreeing.map(({ assumption }) => `- ${assumptionText(assumption)}`),
        ]),
  )
  return lines.join('\n')
}

const assumptionText = ({ resident, metadata, launchOrder }: Assumption): string =>
  `resident ${resident}, metadata ${metadata}, launch order ${launchOrder}`

function rungTable(paint: ChalkInstance, rows: readonly Row[], timing: boolean): string[] {
  const head = ['rung', 'variant', 'W', 'verdict', 'scope', 'states', ...(timing ? ['time'] : [])]
  const body = rows.map(({ rung, variant, window, verdict, elapsedMs, remains }) => [
    String(rung),
    variant,
    String(window),
    verdictWord(verdict),
    verdict.outcome === 'violated' ? 'refuted' : scopeText(verdict.scope),
    String(verdict.states),
    ...(timing ? [`${(elapsedMs / 1000).toFixed(2)} s`] : []),
    remains,
  ])
  const table = aligned([[...head, 'what remains'], ...body])
  return table.map((line, index) => {
    if (index === 0) return paint.dim(line)
    const { outcome } = rows[index - 1].verdict
    return outcome === 'holds'
      ? paint.green(line)
      : outcome === 'violated'
        ? paint.red(line)
        : paint.yellow(line)
  })
}

const verdictWord = (verdict: Verdict): string => {
  const [first] = verdict.counterexamples
  if (first === undefined) return verdict.outcome === 'holds' ? 'HOLDS' : 'UNDECIDED'
  return `VIOLATED ${first.property} ${properties[first.property].name}`
}

function assumptionTable(
  paint: ChalkInstance,
  {
    consistency,
    observed,
  }: {
    readonly consistency: readonly Consistency[]
    readonly observed: readonly Outcome[]
  },
): string[] {
  const short = (outcome: Outcome | undefined): string => outcome ?? 'undecided'
  const columns = observed.map((_, rung) => `rung ${rung}`)
  const head = ['resident', 'metadata', 'launch order', ...columns]
  const seen = ['', '', 'observed', ...observed, '']
  const body = consistency.map(({ assumption, predictions, misses, consistent }) => [
    String(assumption.resident),
    assumption.metadata,
    assumption.launchOrder,
    ...predictions.map((outcome, rung) => short(outcome) + (misses.includes(rung) ? ' ≠' : '')),
    consistent ? 'consistent' : '',
  ])
  const table = aligned([[...head, ''], seen, ...body])
  return table.map((line, index) => {
    if (index < 2) return paint.dim(line)
    return consistency[index - 2].consistent ? paint.bold(line) : line
  })
}

/** Columns padded to their widest cell. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )
}
