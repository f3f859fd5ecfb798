// Inference is the checker turned round: outcomes that one assumption produces lead back to it.

import { describe, expect, test } from 'vitest'
import { assumptionGrid, predicted } from '../../sim/assumptions.ts'
import {
  bestExperiment,
  binding,
  type Configuration,
  candidates,
  fieldObservations,
  fitsOf,
  type Observation,
  scenarioUnder,
} from '../../sim/inference.ts'
import { check } from '../../sim/search/check.ts'

const grid = assumptionGrid({
  resident: [1, 2, 3],
  metadata: ['none', 'rendezvous'],
  launchOrder: ['free', 'host-program'],
})
const configurations: readonly Configuration[] = [
  { variant: 'fixed-four-header64', pp: 3 },
  { variant: 'fixed-four-header64', pp: 3, draft: 'eager' },
  { variant: 'fixed-four-header64', pp: 3, draft: 'eager', headerCheck: 'consume' },
  { variant: 'gloo-deferred', pp: 3 },
]
const predictions = grid.map((assumption) =>
  configurations.map((each) => predicted(check(scenarioUnder(each, assumption)))),
)

test('what an assumption produces leads back to it, and to none that predicts otherwise', () => {
  grid.forEach((assumption, truth) => {
    const observations = configurations.map((each, at): Observation => {
      const outcome = predictions[truth][at]
      if (outcome === undefined) throw new Error('undecided')
      return { ...each, outcome, watchedMinutes: outcome === 'clean' ? 60 : 5 }
    })
    const fits = fitsOf(grid, predictions, observations)
    const consistent = fits.filter(({ misses }) => misses.length === 0)
    expect(consistent.map((fit) => fit.assumption)).toContainEqual(assumption)
    for (const fit of consistent) expect(fit.predictions).toEqual(predictions[truth])
    for (const fit of fits.slice(consistent.length)) expect(fit.misses.length).toBeGreaterThan(0)
  })
})

test('the device matters to these configurations: not all assumptions predict the same', () => {
  expect(new Set(predictions.map((row) => row.join())).size).toBeGreaterThan(2)
})

describe('what binds', () => {
  const seen = (outcome: 'wedge' | 'clean', watchedMinutes: number): Observation => ({
    variant: 'capped',
    pp: 8,
    outcome,
    watchedMinutes,
  })

  test('a clean run shorter than the slowest freeze is no evidence', () => {
    expect(binding([seen('wedge', 44), seen('clean', 30), seen('clean', 65)])).toEqual([
      true,
      false,
      true,
    ])
    expect(binding([seen('clean', 1)])).toEqual([true])
  })

  test("every observation of the report's ladder binds", () => {
    expect(binding(fieldObservations)).toEqual(fieldObservations.map(() => true))
  })
})

describe('the next experiment', () => {
  test('splits the assumptions most evenly', () => {
    const [a, b, c, d] = grid
    const two = candidates(2).slice(0, 2)
    const rows = (['wedge', 'wedge', 'clean', 'clean'] as const).map(
      (half, index) => [index === 0 ? 'wedge' : 'clean', half] as const,
    )
    const found = bestExperiment(two, [a, b, c, d], rows)
    expect(found).toEqual({ configuration: two[1], ifWedge: [a, b], ifClean: [c, d] })
  })

  test('is none where nothing splits them, or a search was undecided', () => {
    const one = candidates(2).slice(0, 1)
    expect(bestExperiment(one, grid.slice(0, 2), [['clean'], ['clean']])).toBeUndefined()
    expect(bestExperiment(one, grid.slice(0, 2), [['clean'], [undefined]])).toBeUndefined()
  })
})
