// The lattice of fixes: which subsets of them make all properties hold, which of those are minimal,
// and what each missing one leaves open. Nothing is assumed monotone: every subset is checked.

import { fail } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'

export interface Fix {
  readonly id: string
  /** What it changes, in a few words. */
  readonly summary: string
}

/** A scenario that can be built with any subset of its fixes. */
export interface Ablation {
  readonly name: string
  readonly fixes: readonly Fix[]
  /** The scenario in which exactly these fixes are applied. */
  readonly scenario: (applied: ReadonlySet<string>) => Scenario
}

/** What was found of one subset; subsets are bit sets over `fixes`. */
export type SubsetOutcome = 'holds' | 'violated' | 'inconclusive'

const fixesMax = 8

/**
 * Checks the shape of an ablation and returns it unchanged.
 * @throws PpcheckError PPC111.
 */
export function defineAblation(ablation: Ablation): Ablation {
  const { name, fixes, scenario } = Object(ablation) as Partial<Ablation>
  if (typeof name !== 'string' || !Array.isArray(fixes) || typeof scenario !== 'function') {
    fail('PPC111', 'an ablation needs a name, its fixes, and a function that builds a scenario')
  }
  const ids = fixes.map((fix: Partial<Fix>) => fix?.id)
  if (ids.length === 0 || ids.length > fixesMax) {
    fail('PPC111', `${name}: an ablation has 1 to ${fixesMax} fixes, got ${ids.length}`)
  }
  if (ids.some((id) => typeof id !== 'string' || id === '') || new Set(ids).size < ids.length) {
    fail('PPC111', `${name}: every fix needs an id of its own`)
  }
  return ablation
}

/** The ids of a subset, in the order of the fixes. */
export const idsOf = ({ fixes }: Ablation, subset: number): string[] =>
  fixes.filter((_, index) => subset & (1 << index)).map(({ id }) => id)

/** Scenarios of all subsets, by their bit sets. */
export const scenariosOf = (ablation: Ablation): Scenario[] =>
  Array.from({ length: 1 << ablation.fixes.length }, (_, subset) =>
    ablation.scenario(new Set(idsOf(ablation, subset))),
  )

const bitCount = (bits: number): number => {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++
  return count
}

/** Subsets by size, then in the order of the fixes. */
export const byLevel = (count: number): number[][] => {
  const levels: number[][] = Array.from({ length: count + 1 }, () => [])
  for (let subset = 0; subset < 1 << count; subset++) levels[bitCount(subset)].push(subset)
  return levels
}

/** Sufficient subsets none of whose proper subsets is sufficient. */
export function minimalSufficient(outcomes: readonly SubsetOutcome[]): number[] {
  const holding = outcomes.flatMap((outcome, subset) => (outcome === 'holds' ? [subset] : []))
  const minimal = holding.filter(
    (subset) => !holding.some((other) => other !== subset && (other & subset) === other),
  )
  return minimal.sort((a, b) => bitCount(a) - bitCount(b) || a - b)
}

/** Pairs of subsets in which one more fix breaks what held: where fixes are not monotone. */
export function harmful(outcomes: readonly SubsetOutcome[], count: number) {
  const found: { readonly subset: number; readonly fix: number }[] = []
  outcomes.forEach((outcome, subset) => {
    if (outcome !== 'holds') return
    for (let fix = 0; fix < count; fix++) {
      if (subset & (1 << fix)) continue
      if (outcomes[subset | (1 << fix)] === 'violated') found.push({ subset, fix })
    }
  })
  return found
}
