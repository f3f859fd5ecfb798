// Device assumptions and the field's outcomes: which assumptions would make every rung of the
// ladder end as it was seen to end? A verdict speaks of an assumption; observations choose among
// them.

import type { PropertyId } from '../spec/properties.ts'
import type { FieldOverrides } from '../spec/protocols/index.ts'
import type { Verdict } from './search/check.ts'

/** What the report does not state about the device and the engine (page 1). */
export interface Assumption {
  readonly resident: number
  readonly metadata: 'none' | 'rendezvous'
  readonly launchOrder: 'free' | 'host-program' | 'serial'
}

/** What was seen of one rung: a freeze, or a long run without one. */
export type Outcome = 'wedge' | 'clean'

/** The assumption that the report's outcomes leave most room for. */
export const defaultAssumption: Assumption = {
  resident: 2,
  metadata: 'none',
  launchOrder: 'free',
}

/** All combinations, in a fixed order. */
export const assumptionGrid = (among: {
  readonly resident: readonly number[]
  readonly metadata: readonly Assumption['metadata'][]
  readonly launchOrder: readonly Assumption['launchOrder'][]
}): Assumption[] =>
  among.launchOrder.flatMap((launchOrder) =>
    among.metadata.flatMap((metadata) =>
      among.resident.map((resident) => ({ resident, metadata, launchOrder })),
    ),
  )

/** An assumption as overrides of a field scenario. */
export const overridesOf = (assumption: Assumption): FieldOverrides => ({
  switches: { activationMetadata: assumption.metadata },
  device: {
    residentCollectives: assumption.resident,
    launchOrder: assumption.launchOrder,
  },
})

/** Properties whose violation an operator sees as a frozen engine (a mismatch hangs NCCL). */
export const wedgeProperties: readonly PropertyId[] = ['P1', 'P2', 'P6', 'P10']

/** What the checker predicts for a rung; undefined where a budget ended the search. */
export function predicted(verdict: Verdict): Outcome | undefined {
  const wedges = verdict.counterexamples.some(({ property }) => wedgeProperties.includes(property))
  if (wedges) return 'wedge'
  return verdict.outcome === 'inconclusive' ? undefined : 'clean'
}

/** How an assumption's predictions compare with what was observed. */
export interface Consistency {
  readonly assumption: Assumption
  readonly predictions: readonly (Outcome | undefined)[]
  /** Rungs whose prediction differs from the observation. */
  readonly misses: readonly number[]
  /** Rungs that a budget left undecided. */
  readonly undecided: readonly number[]
  readonly consistent: boolean
}

export function compareWith(
  assumption: Assumption,
  predictions: readonly (Outcome | undefined)[],
  observed: readonly Outcome[],
): Consistency {
  const rungs = observed.map((_, rung) => rung)
  const undecided = rungs.filter((rung) => predictions[rung] === undefined)
  const misses = rungs.filter(
    (rung) => predictions[rung] !== undefined && predictions[rung] !== observed[rung],
  )
  return {
    assumption,
    predictions,
    misses,
    undecided,
    consistent: misses.length === 0 && undecided.length === 0,
  }
}
