// `ppcheck infer`: which assumptions about the device and the engine reproduce what was seen, which
// come close, and what to run next. Without a file it asks about the field report's ladder.

import { readFileSync } from 'node:fs'
import type { ChalkInstance } from 'chalk'
import { z } from 'zod'
import { type Assumption, assumptionGrid, type Outcome, predicted } from '../../sim/assumptions.ts'
import {
  bestExperiment,
  binding,
  type Configuration,
  candidates,
  type Experiment,
  type Fit,
  fieldObservations,
  fitsOf,
  type Observation,
  scenarioUnder,
} from '../../sim/inference.ts'
import { fail } from '../../spec/error.ts'
import { variantNames } from '../../spec/protocols/index.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { checkAll } from '../pool.ts'
import type { Report } from '../reporters/report.ts'
import { poolOptions } from '../search-options.ts'
import { wrapped } from '../verdict-text.ts'

const observationsSchema = z
  .array(
    z.strictObject({
      variant: z.string().refine((id) => variantNames.includes(id), {
        error: `must be one of ${variantNames.join(', ')}`,
      }),
      pp: z.int().min(2).max(30),
      outcome: z.enum(['wedge', 'clean']),
      watchedMinutes: z.number().positive(),
      draft: z.enum(['eager', 'full-graph']).optional(),
      headerCheck: z.enum(['host', 'consume']).optional(),
      window: z.int().min(1).max(63).optional(),
    }),
  )
  .min(1)
  .max(100)

const statesMax = 2_000_000
/** Experiments are compared at a small pipeline; the one that is printed can be run at any. */
const experimentPp = 3

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const observations = args[0] === undefined ? fieldObservations : readObservations(args[0])
  const grid = assumptionGrid({
    resident: [1, 2, 3],
    metadata: ['none', 'rendezvous'],
    launchOrder: ['free', 'host-program'],
  })
  const signal = invocation.interruptSignal()
  const ask = async (configurations: readonly Configuration[], among: readonly Assumption[]) => {
    const scenarios = among.flatMap((assumption) =>
      configurations.map((configuration) => scenarioUnder(configuration, assumption)),
    )
    const { verdicts } = await checkAll(
      scenarios.map((scenario) => ({
        scenario,
        options: { statesMax: options.maxStates ?? statesMax },
      })),
      {
        ...poolOptions(options, signal),
        onDone: (finished) =>
          progress.update(() => `infer: ${finished} of ${scenarios.length} searches done`),
      },
    )
    const width = configurations.length
    return among.map((_, row) => verdicts.slice(row * width, (row + 1) * width).map(predicted))
  }
  const fits = fitsOf(grid, await ask(observations, grid), observations)
  const consistent = fits.filter(({ misses }) => misses.length === 0)
  const remaining = consistent.map(({ assumption }) => assumption)
  const next = candidates(experimentPp)
  const experiment =
    remaining.length < 2 || signal.aborted
      ? undefined
      : bestExperiment(next, remaining, await ask(next, remaining))
  const result: Result = { observations, fits, experiment, remaining }
  return {
    command: 'infer',
    exitCode: signal.aborted
      ? exitCodes.interrupted
      : consistent.length > 0
        ? exitCodes.holds
        : exitCodes.violated,
    data: {
      observations,
      binding: binding(observations),
      fits,
      consistent: consistent.map(({ assumption }) => assumption),
      experiment: experiment ?? null,
    },
    text: (paint) => textOf(paint, result),
  }
}

interface Result {
  readonly observations: readonly Observation[]
  readonly fits: readonly Fit[]
  readonly experiment: Experiment | undefined
  readonly remaining: readonly Assumption[]
}

function readObservations(file: string): readonly Observation[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    fail('PPC109', `cannot read ${file}: ${error instanceof Error ? error.message : error}`)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    fail('PPC136', `${file} is not JSON`)
  }
  const parsed = observationsSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''
  fail(
    'PPC136',
    `${file}: ${where}${issue.message}`,
    '[{"variant": "capped", "pp": 8, "outcome": "wedge", "watchedMinutes": 44}]',
  )
}

function textOf(paint: ChalkInstance, result: Result): string {
  const { observations, fits, experiment, remaining } = result
  const binds = binding(observations)
  const lines = [paint.bold('What was seen')]
  observations.forEach((observation, index) => {
    const { outcome, watchedMinutes } = observation
    const weak = binds[index] ? '' : ', too short to bind: a freeze took longer'
    const text = `${configurationText(observation)}: ${outcome} (${watchedMinutes} min${weak})`
    lines.push(...wrapped(`${index + 1}. ${text}`))
  })
  const consistent = fits.filter(({ misses }) => misses.length === 0)
  lines.push('', paint.bold('Assumptions that reproduce all of it'))
  lines.push(...(consistent.length === 0 ? ['none of those tried'] : consistent.map(fitText)))
  lines.push('', paint.bold('Those that come closest'))
  for (const fit of fits.filter(({ misses }) => misses.length > 0).slice(0, 4)) {
    const missed = fit.misses.map((at) => {
      const said: Outcome | 'undecided' = fit.predictions[at] ?? 'undecided'
      return `${at + 1} (${said})`
    })
    lines.push(`${fitText(fit)}; misses ${missed.join(', ')}`)
  }
  lines.push('', paint.bold('What to run next'))
  if (experiment === undefined) {
    const few = ['nothing: no assumption is left', 'nothing: one assumption is left']
    lines.push(few[remaining.length] ?? 'none of the configurations tells them apart')
    return lines.join('\n')
  }
  const { configuration, ifWedge, ifClean } = experiment
  lines.push(configurationText(configuration))
  lines.push('if it freezes:', ...ifWedge.map((each) => `- ${assumptionText(each)}`))
  lines.push('if it stays clean:', ...ifClean.map((each) => `- ${assumptionText(each)}`))
  return lines.join('\n')
}

const fitText = ({ assumption }: Fit): string => `- ${assumptionText(assumption)}`

const assumptionText = ({ resident, metadata, launchOrder }: Assumption): string =>
  `resident ${resident}, metadata ${metadata}, launch order ${launchOrder}`

/** As the options of `ppcheck explore` say it. */
const configurationText = ({ variant, pp, draft, headerCheck, window }: Configuration): string =>
  [
    `--variant ${variant} --pp ${pp}`,
    ...(draft === undefined ? [] : [`--draft ${draft}`]),
    ...(headerCheck === undefined ? [] : [`--header-check ${headerCheck}`]),
    ...(window === undefined ? [] : [`--window ${window}`]),
  ].join(' ')
