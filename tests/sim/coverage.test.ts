// Coverage says what runs reached, and above all what they never did; in any split it is the same.

import { describe, expect, test } from 'vitest'
import { BulkRun } from '../../sim/bulk-run.ts'
import { joined, missed } from '../../sim/coverage.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario, ScenarioInput } from '../../spec/scenario.ts'

/** The one built-in schedule that depends on masks; with places enough it holds. */
const gated = (input: Pick<ScenarioInput, 'workload' | 'faults'> = {}): Scenario =>
  fieldScenario('gated', { pp: 3, device: { residentCollectives: 4 }, ...input })

const reachedIn = (scenario: Scenario, runs: number) => {
  const bulk = new BulkRun(scenario, 1)
  bulk.run(0, runs)
  return bulk.coverage()
}

test('whatever was reached was possible, and names come once and in order', () => {
  const { possible, reached } = reachedIn(gated({ workload: { steps: 4 } }), 200)
  expect(reached.length).toBeGreaterThan(20)
  expect(reached.filter((name) => !possible.includes(name))).toEqual([])
  for (const names of [possible, reached]) expect(names).toEqual([...new Set(names)].sort())
})

describe('sometimes', () => {
  const mask = 'empty' as const
  const empty = 'sometimes a mask is empty'

  test('runs that never had an empty mask say so, and name what they passed over', () => {
    const never = missed(reachedIn(gated({ workload: { steps: 4 } }), 200))
    expect(never).toContain(empty)
    expect(never).not.toContain('sometimes the window is full')
    const choices = [{}, { mask }]
    expect(missed(reachedIn(gated({ workload: { steps: 4, choices } }), 200))).not.toContain(empty)
  })

  test('with empty masks alone, no token is ever posted', () => {
    const never = missed(reachedIn(gated({ workload: { steps: 4, choices: [{ mask }] } }), 200))
    expect(never).toContain('operation last rank, sampled')
  })

  test('a run of one step does not fill the window', () => {
    const never = missed(reachedIn(gated({ workload: { steps: 1 } }), 50))
    expect(never).toContain('sometimes the window is full')
  })
})

describe('faults', () => {
  const scenario = (kind: 'own-num-reqs' | 'throw') =>
    fieldScenario('stabilized', {
      pp: 2,
      workload: { steps: 4 },
      faults: [{ kind }],
      properties: ['P7'],
    })

  test('a divergence that is seen: the check raises', () => {
    const never = missed(reachedIn(scenario('own-num-reqs'), 500))
    expect(never.filter((name) => /^fault|raises|MISMATCH/.test(name))).toEqual([])
    const clean = missed(reachedIn({ ...scenario('own-num-reqs'), faults: [] }, 500))
    expect(clean).toContain('sometimes a rank raises')
    expect(clean.some((name) => name.endsWith('HEADER_MISMATCH'))).toBe(true)
  })

  test('what could strike and did not is named', () => {
    const late = { ...scenario('throw'), faultsMax: 0 }
    expect(missed(reachedIn(late, 100))).toContain('fault throw')
    expect(missed(reachedIn(scenario('throw'), 500))).not.toContain('fault throw')
  })
})

test('parts joined are the whole', () => {
  const scenario = gated({ workload: { steps: 3, choices: [{}, { mask: 'empty' }] } })
  const parts = [0, 1, 2].map((shard) => {
    const bulk = new BulkRun(scenario, 1)
    bulk.run(shard, 300, 3)
    return bulk.coverage()
  })
  expect(joined(parts)).toEqual(reachedIn(scenario, 300))
})
