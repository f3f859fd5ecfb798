// All built-in variants, and the scenario that the field report's engine makes of one.

import { fail } from '../error.ts'
import type { BatchInput, Scenario, ScenarioInput } from '../scenario.ts'
import { defineScenario } from '../scenario.ts'
import { maxConcurrentBatches } from '../window.ts'
import { capped } from './capped.ts'
import type { Switches } from './field-report.ts'
import { fieldReport } from './field-report.ts'
import { fixedFour } from './fixed-four.ts'
import { fixedFourHeader64 } from './fixed-four-header64.ts'
import { gated } from './gated.ts'
import { glooDeferred } from './gloo-deferred.ts'
import { headerV2 } from './header-v2.ts'
import { stabilized } from './stabilized.ts'
import { upstreamFork } from './upstream-fork.ts'
import type { Variant } from './variant.ts'

/** Every variant; the first six are the rungs of the ladder, in order. */
export const variants: readonly Variant[] = [
  upstreamFork,
  fixedFour,
  fixedFourHeader64,
  capped,
  glooDeferred,
  stabilized,
  gated,
  headerV2,
]

export const variantNames: readonly string[] = variants.map(({ id }) => id)

/** The ladder: rungs 0..5. */
export const ladder: readonly Variant[] = variants.filter(({ rung }) => rung !== undefined)

export type { Switches, Variant }

/** What may be set beside a variant: any switch, and any part of the scenario. */
export interface FieldOverrides {
  readonly switches?: Partial<Switches>
  readonly pp?: number
  readonly window?: number
  readonly drafts?: number
  readonly device?: ScenarioInput['device']
  readonly workload?: ScenarioInput['workload']
  readonly faults?: ScenarioInput['faults']
  readonly faultsMax?: number
  readonly properties?: ScenarioInput['properties']
}

/**
 * The report's engine with one variant: PP8, K = 5, endless runs in which every step may have a
 * full mask, an empty one, or no proposal. The default device assumption (two places, no metadata
 * rendezvous, free launch order) is one of those that reproduce all outcomes of the field.
 * @throws PpcheckError PPC110 if there is no variant of that name.
 */
export function fieldScenario(id: string, overrides: FieldOverrides = {}): Scenario {
  const variant = variants.find((candidate) => candidate.id === id)
  if (variant === undefined) {
    fail('PPC110', `there is no variant ${JSON.stringify(id)}`, `one of ${variantNames.join(', ')}`)
  }
  const pp = overrides.pp ?? 8
  const { properties } = overrides
  return defineScenario({
    name: variant.id,
    protocol: fieldReport(variant.id, variant.summary, {
      ...variant.switches,
      ...overrides.switches,
    }),
    topology: {
      pp,
      window: overrides.window ?? windowOf(variant, pp),
      drafts: overrides.drafts ?? 5,
    },
    device: overrides.device,
    workload: overrides.workload ?? { choices: batchChoices(variant) },
    faults: overrides.faults,
    ...(overrides.faultsMax === undefined ? {} : { faultsMax: overrides.faultsMax }),
    ...(properties === undefined ? {} : { properties }),
  })
}

/** What any step's batch may be, with so many rows. */
export const batchChoices = (variant: Variant, requests = 1): BatchInput[] => [
  { requests },
  { requests, mask: 'empty' },
  ...(variant.skipsProposals === false ? [] : [{ requests, proposal: false }]),
]

/** The window that vLLM's rule gives the variant's engine. */
const windowOf = (variant: Variant, pp: number): number =>
  maxConcurrentBatches({
    pp,
    asyncScheduling: true,
    runner: 'v2',
    capEnabled: variant.window === 'pp',
    method: 'dspark',
  })
