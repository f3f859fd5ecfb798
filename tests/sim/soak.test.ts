// The soak carries out what the scheduler of requests says, in virtual time.

import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { check } from '../../sim/search/check.ts'
import { Soak, type SoakReport, soakChoices, stressShape } from '../../sim/soak.ts'
import { type FieldOverrides, fieldScenario, ladder } from '../../spec/protocols/index.ts'

const scenarioOf = (variant: string, overrides: FieldOverrides = {}) =>
  fieldScenario(variant, { pp: 3, workload: { choices: [...soakChoices] }, ...overrides })

function soaked(variant: string, iterations: number, seed = 1, overrides: FieldOverrides = {}) {
  const soak = new Soak(scenarioOf(variant, overrides), { ...stressShape, iterations, seed })
  for (let until = 100; soak.advance(until); until += 100);
  return soak
}

const reportOf = (...args: Parameters<typeof soaked>): SoakReport => soaked(...args).report()

describe('the last rung', () => {
  test('serves to the end; every token is adopted on every rank', () => {
    const report = reportOf('stabilized', 3_000)
    expect(report).toMatchObject({ end: 'done', iterations: 3_000, disagreements: 0, stalls: 0 })
    const [first, ...rest] = report.tokensByRank
    expect(first).toBeGreaterThan(1_000)
    expect(rest.every((tokens) => tokens === first)).toBe(true)
    expect(report.counts.sampledTokens).toBe(first)
    expect(Math.max(...report.window)).toBe(3)
  })

  test('is the same for the same seed, and another one for another', () => {
    const report = reportOf('stabilized', 400, 5)
    expect(reportOf('stabilized', 400, 5)).toEqual(report)
    expect(reportOf('stabilized', 400, 6)).not.toEqual(report)
  })

  test('what a soak finds clean is not refuted by the checker either', () => {
    expect(check(scenarioOf('stabilized')).outcome).toBe('holds')
  })
})

describe('what a run breaks is what the checker refutes', () => {
  test.each(ladder.slice(0, -1).map(({ id }) => id))('%s', (id) => {
    const { end, findings } = reportOf(id, 20_000, 1, { pp: 8 })
    expect(['stuck', 'violated']).toContain(end)
    const broken = check(scenarioOf(id, { pp: 8, properties: [findings[0].property] }))
    expect(broken.outcome).toBe('violated')
  })

  test('the wedge is explained from the end of the run', () => {
    const soak = soaked('capped', 20_000, 1, { pp: 8 })
    const { hazard, cycle } = explain(soak.trace())
    expect(hazard?.id).toBe('H5')
    expect(cycle.length).toBeGreaterThan(2)
  })
})
