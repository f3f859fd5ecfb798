// From what was seen of several configurations back to what must be assumed of the device and the
// engine, and forward again to the one configuration that would tell the remaining assumptions
// apart best.

import { type FieldOverrides, fieldScenario, variants } from '../spec/protocols/index.ts'
import type { Scenario } from '../spec/scenario.ts'
import { type Assumption, type Outcome, overridesOf, wedgeProperties } from './assumptions.ts'

/** One configuration and what became of it. */
export interface Observation {
  readonly variant: string
  readonly pp: number
  readonly outcome: Outcome
  /** How long it was watched, or ran until it froze; in minutes. */
  readonly watchedMinutes: number
  readonly draft?: 'eager' | 'full-graph' | undefined
  readonly headerCheck?: 'host' | 'consume' | undefined
  readonly window?: number | undefined
}

/**
 * The field report's ladder. Rung 3 looked clean for 66 minutes and froze in a later run after 44.
 * Where the report says "within minutes" or gives no figure, five minutes stand for it.
 */
export const fieldObservations: readonly Observation[] = [
  { variant: 'upstream-fork', pp: 8, outcome: 'wedge', watchedMinutes: 5 },
  { variant: 'fixed-four', pp: 8, outcome: 'wedge', watchedMinutes: 5 },
  { variant: 'fixed-four-header64', pp: 8, outcome: 'wedge', watchedMinutes: 5 },
  { variant: 'capped', pp: 8, outcome: 'wedge', watchedMinutes: 44 },
  { variant: 'gloo-deferred', pp: 8, outcome: 'wedge', watchedMinutes: 5 },
  { variant: 'stabilized', pp: 8, outcome: 'clean', watchedMinutes: 65 },
]

/** A configuration that could be run next. */
export type Configuration = Omit<Observation, 'outcome' | 'watchedMinutes'>

/** The scenario of a configuration under an assumption, asked whether it freezes. */
export function scenarioUnder(configuration: Configuration, assumption: Assumption): Scenario {
  const { variant, pp, draft, headerCheck, window } = configuration
  const { device, switches } = overridesOf(assumption)
  const overrides: FieldOverrides = {
    pp,
    ...(device === undefined ? {} : { device }),
    switches: {
      ...switches,
      ...(draft === undefined ? {} : { draftExecution: draft }),
      ...(headerCheck === undefined ? {} : { headerCheck }),
    },
    ...(window === undefined ? {} : { window }),
    properties: [...wedgeProperties],
  }
  return fieldScenario(variant, overrides)
}

/**
 * Observations that bind. A clean run is evidence only if it was watched for longer than the
 * slowest freeze took: the report's cap passed for an hour, and was no fix.
 */
export function binding(observations: readonly Observation[]): readonly boolean[] {
  const slowest = Math.max(
    0,
    ...observations
      .filter(({ outcome }) => outcome === 'wedge')
      .map(({ watchedMinutes }) => watchedMinutes),
  )
  return observations.map(
    ({ outcome, watchedMinutes }) => outcome === 'wedge' || watchedMinutes > slowest,
  )
}

/** How one assumption fares: which binding observations it gets wrong, by index. */
export interface Fit {
  readonly assumption: Assumption
  readonly predictions: readonly (Outcome | undefined)[]
  readonly misses: readonly number[]
}

/** Fits in the order of fewest misses; equals keep their order. An undecided one is a miss. */
export function fitsOf(
  assumptions: readonly Assumption[],
  predictions: readonly (readonly (Outcome | undefined)[])[],
  observations: readonly Observation[],
): Fit[] {
  const binds = binding(observations)
  return assumptions
    .map((assumption, index) => ({
      assumption,
      predictions: predictions[index],
      misses: observations.flatMap(({ outcome }, at) =>
        binds[at] && predictions[index][at] !== outcome ? [at] : [],
      ),
    }))
    .sort((a, b) => a.misses.length - b.misses.length)
}

/** Configurations that could be run next: every variant, drafts and header check either way. */
export const candidates = (pp: number): Configuration[] =>
  variants.flatMap(({ id, switches }) =>
    (['eager', 'full-graph'] as const).flatMap((draft) =>
      (switches.header === 'none' ? [undefined] : (['host', 'consume'] as const)).map(
        (headerCheck) => ({ variant: id, pp, draft, headerCheck }),
      ),
    ),
  )

/** What running a configuration would leave, for either outcome. */
export interface Experiment {
  readonly configuration: Configuration
  readonly ifWedge: readonly Assumption[]
  readonly ifClean: readonly Assumption[]
}

/**
 * The configuration whose outcome splits the assumptions most evenly; undefined where none splits
 * them. Configurations that a search left undecided for one of them are no candidates.
 */
export function bestExperiment(
  configurations: readonly Configuration[],
  assumptions: readonly Assumption[],
  predictions: readonly (readonly (Outcome | undefined)[])[],
): Experiment | undefined {
  let best: Experiment | undefined
  let evenness = 0
  configurations.forEach((configuration, at) => {
    const outcomes = assumptions.map((_, index) => predictions[index][at])
    if (outcomes.includes(undefined)) return
    const ifWedge = assumptions.filter((_, index) => outcomes[index] === 'wedge')
    const ifClean = assumptions.filter((_, index) => outcomes[index] === 'clean')
    const smaller = Math.min(ifWedge.length, ifClean.length)
    if (smaller <= evenness) return
    evenness = smaller
    best = { configuration, ifWedge, ifClean }
  })
  return best
}
