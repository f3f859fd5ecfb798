// The hazard that a wedge is called by must be the one that its fix removes.

import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'

const explained = (scenario: Scenario) => {
  const [{ schedule }] = check(scenario).counterexamples
  return explain(replay(scenario, decodeSchedule(scenario, schedule)))
}

describe('hazards of the field report', () => {
  test('H5: with the draft receive deferred, the draft graph itself is what stalls', () => {
    const scenario = fieldScenario('gloo-deferred', { pp: 3 })
    expect(explained(scenario).hazard?.id).toBe('H5')
    // Its fix removes it.
    expect(check(fieldScenario('stabilized', { pp: 3 })).outcome).toBe('holds')
  })

  test('H4: a host that waits for the drafts themselves', () => {
    const switches = { receive: 'blocking' } as const
    const { hazard, cycle } = explained(fieldScenario('gloo-deferred', { pp: 3, switches }))
    expect(hazard?.id).toBe('H4')
    expect(cycle.map(({ why }) => why)).toContain('waits for drafts of step 0')
  })

  test('H1: a payload that nobody posts', () => {
    const { hazard, cycle } = explained(fieldScenario('upstream-fork', { pp: 2 }))
    expect({ id: hazard?.id, links: cycle.length }).toEqual({ id: 'H1', links: 0 })
  })

  const switches = { draftExecution: 'eager', headerCheck: 'consume' } as const

  test('H2: more steps in flight than ranks', () => {
    const open = fieldScenario('fixed-four-header64', { pp: 3, switches })
    expect(explained(open).hazard?.id).toBe('H2')
    expect(check(fieldScenario('capped', { pp: 3, switches })).outcome).toBe('holds')
  })

  test('H3: places run out with one step in flight, whatever the window', () => {
    const device = { residentCollectives: 1 }
    const open = fieldScenario('fixed-four-header64', { pp: 3, switches, device })
    expect(explained(open).hazard?.id).toBe('H3')
    const capped = fieldScenario('capped', { pp: 3, switches, device })
    expect(explained(capped).hazard?.id).toBe('H3')
    // The first of the two fixes that H3 names.
    expect(check(fieldScenario('stabilized', { pp: 3, device })).outcome).toBe('holds')
  })
})

test('names in the table are short, also where an activation starts', () => {
  const { table } = explained(fieldScenario('gloo-deferred', { pp: 3 }))
  const cells = table.rows.flat()
  expect(cells).toContain('recv-act ▸')
  expect(cells.filter((cell) => cell.includes('activation'))).toEqual([])
})
