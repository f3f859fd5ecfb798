// For each hazard of the field report a seed that finds it, shrunken to a few ranks and steps, and
// confirmed by the exhaustive search of the same tiny scenario.

import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { PropertyRunner, type Size } from '../../sim/property-run.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import type { Switches } from '../../spec/protocols/field-report.ts'
import { batchChoices, fieldScenario, variants } from '../../spec/protocols/index.ts'

const consume = { draftExecution: 'eager', headerCheck: 'consume' } as const

function sizesOf(id: string, switches: Partial<Switches> = {}, residentCollectives = 2): Size[] {
  const variant = variants.find((each) => each.id === id)
  if (variant === undefined) throw new Error(id)
  return Array.from({ length: 6 * 7 }, (_, index): Size => {
    const pp = 2 + Math.floor(index / 6)
    const steps = 1 + (index % 6)
    const workload = { steps, choices: batchChoices(variant) }
    const device = { residentCollectives }
    return { pp, steps, scenario: fieldScenario(id, { pp, switches, device, workload }) }
  })
}

describe('a seed for each hazard', () => {
  test.each([
    ['H1', 1, sizesOf('upstream-fork'), { pp: 2, steps: 2, deviations: 3 }],
    ['H2', 1, sizesOf('fixed-four-header64', consume), { pp: 3, steps: 4, deviations: 3 }],
    ['H3', 1, sizesOf('capped', consume, 1), { pp: 2, steps: 2, deviations: 3 }],
    [
      'H4',
      1,
      sizesOf('gloo-deferred', { receive: 'blocking' }),
      { pp: 2, steps: 2, deviations: 3 },
    ],
    ['H5', 1, sizesOf('gloo-deferred'), { pp: 2, steps: 3, deviations: 3 }],
  ] as const)('%s', (id, seed, sizes, most) => {
    const { runs, failure } = new PropertyRunner(sizes, { runs: 5_000, seed }).run()
    expect(runs).toBeLessThanOrEqual(5_000)
    if (failure === undefined) throw new Error('not found')
    const { size, schedule, found } = failure
    expect(size.pp).toBeLessThanOrEqual(most.pp)
    expect(size.steps).toBeLessThanOrEqual(most.steps)
    expect(failure.case.deviations.length).toBeLessThanOrEqual(most.deviations)
    const trace = replay(size.scenario, decodeSchedule(size.scenario, schedule))
    expect(trace.findings).toEqual(found.findings)
    expect(explain(trace).hazard?.id).toBe(id)
    const properties = [found.findings[0].property]
    expect(check({ ...size.scenario, properties }).outcome).toBe('violated')
  })
})
