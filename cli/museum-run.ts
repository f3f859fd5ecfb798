// Runs exhibits of the museum and compares each verdict with what is expected of it. The command,
// the page and the tests all come through here.

import { type Exhibit, exhibitScenario, type MuseumCase } from '../spec/museum/index.ts'
import type { Scenario } from '../spec/scenario.ts'
import { checkAll, type ExplainedVerdict, type PoolOptions } from './pool.ts'

/** An exhibit with its verdict. */
export interface Shown {
  readonly museumCase: MuseumCase
  readonly exhibit: Exhibit
  /** `museum:vllm-53402.2`: names it on a command line; numbers count from 1. */
  readonly address: string
  readonly scenario: Scenario
  readonly verdict: ExplainedVerdict
  readonly elapsedMs: number
  /** Is the verdict what the case says? */
  readonly asExpected: boolean
}

const statesMax = 3_000_000

/** Checks every exhibit of the cases, over threads; results come in the order of the cases. */
export async function runMuseum(
  cases: readonly MuseumCase[],
  pool: PoolOptions,
): Promise<readonly Shown[]> {
  const exhibits = cases.flatMap((museumCase) =>
    museumCase.exhibits.map((exhibit, index) => ({
      museumCase,
      exhibit,
      address: addressOf(museumCase, index),
      scenario: exhibitScenario(exhibit),
    })),
  )
  const { verdicts, elapsedMs } = await checkAll(
    exhibits.map(({ scenario }) => ({ scenario, options: { statesMax }, explain: true })),
    pool,
  )
  return exhibits.map((shown, index) => ({
    ...shown,
    verdict: verdicts[index],
    elapsedMs: elapsedMs[index],
    asExpected: isExpected(shown.exhibit, verdicts[index]),
  }))
}

export const addressOf = ({ id }: MuseumCase, index: number): string => `museum:${id}.${index + 1}`

/** A budget that ended the search is not what was expected, whatever was. */
function isExpected(exhibit: Exhibit, verdict: ExplainedVerdict): boolean {
  const [counterexample] = verdict.counterexamples
  if (exhibit.violates === undefined) return verdict.outcome === 'holds'
  return verdict.outcome === 'violated' && counterexample?.property === exhibit.violates
}
