// A replay does what the search did, through XState itself, or says that it cannot.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import type { Reduction } from '../../sim/search/expander.ts'
import { waitersOf } from '../../sim/waits.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'
import { tokenEngines } from '../laws/token-engines.ts'

const replays = (scenario: Scenario, reduction: Reduction) =>
  check(scenario, { reduction, continue: true, statesMax: 3_000, walks: 4 }).counterexamples.map(
    ({ property, findings, schedule }) => ({
      property,
      findings,
      trace: replay(scenario, decodeSchedule(scenario, schedule)),
    }),
  )

describe('on small engines that are nearly right', () => {
  test.each(['stubborn', 'none'] as const)('%s: replays end as the search did', (reduction) => {
    let count = 0
    fc.assert(
      fc.property(tokenEngines, (scenario) => {
        for (const { property, findings, trace } of replays(scenario, reduction)) {
          expect(trace.findings).toEqual(findings)
          expect(trace.findings.map((finding) => finding.property)).toContain(property)
          expect(trace.choicesLeft).toBe(0)
          count++
        }
      }),
      { seed: 21, numRuns: 60 },
    )
    expect(count).toBeGreaterThan(30)
  })

  test('what is stuck is explained: each waits for the next, and the last for the first', () => {
    let cycles = 0
    fc.assert(
      fc.property(tokenEngines, (scenario) => {
        for (const { trace } of replays(scenario, 'stubborn')) {
          const { cycle, standing, story } = explain(trace)
          const waiters = waitersOf(trace.world, trace.final, trace.dispatched)
          expect(standing).toHaveLength(trace.world.pp)
          expect(story).toMatch(/\.$/)
          if (cycle.length > 0) cycles++
          for (const [index, { who, why }] of cycle.entries()) {
            const next = cycle[(index + 1) % cycle.length]
            const here = [...waiters.values()].filter((w) => w.what === who && w.why === why)
            const awaited = here.flatMap(({ waitsFor }) => waitsFor.map((id) => waiters.get(id)))
            expect(awaited.map((waiter) => waiter?.what)).toContain(next.who)
          }
        }
      }),
      { seed: 22, numRuns: 60 },
    )
    expect(cycles).toBeGreaterThan(5)
  })
})

describe('a damaged schedule', () => {
  const scenario = fieldScenario('capped', { pp: 3 })
  const [{ schedule, choices }] = check(scenario).counterexamples
  const decoded = decodeSchedule(scenario, schedule)

  test('a choice that is not offered is refused, with its place', () => {
    const damaged = { ...decoded, choices: [...choices.slice(0, 2), 35, ...choices.slice(3)] }
    expect(() => replay(scenario, damaged)).toThrow(
      expect.objectContaining({ code: 'PPC302', message: expect.stringContaining('choice 3') }),
    )
  })

  test('a schedule that is cut short ends where it ends, without a finding', () => {
    const { findings, events } = replay(scenario, { ...decoded, choices: choices.slice(0, 4) })
    expect(findings).toEqual([])
    expect(events.length).toBeGreaterThan(4)
  })

  test('choices behind the end are counted, not taken', () => {
    const longer = { ...decoded, choices: [...choices, 0, 0] }
    const trace = replay(scenario, longer)
    expect(trace.choicesLeft).toBe(2)
    expect(trace.findings).toEqual(replay(scenario, decoded).findings)
  })
})
