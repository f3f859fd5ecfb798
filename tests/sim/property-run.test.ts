// Property runs are deterministic, shrink to little, and agree with the exhaustive search.

import { describe, expect, test } from 'vitest'
import { excludedProbability, PropertyRunner, type Size } from '../../sim/property-run.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { fieldScenario, variantNames } from '../../spec/protocols/index.ts'

const choices = [{}, { mask: 'empty' as const }, { proposal: false }]

const sizesOf = (id: string, ppMax = 3, stepsMax = 3): Size[] =>
  Array.from({ length: (ppMax - 1) * stepsMax }, (_, index) => {
    const pp = 2 + Math.floor(index / stepsMax)
    const steps = 1 + (index % stepsMax)
    return { pp, steps, scenario: fieldScenario(id, { pp, workload: { steps, choices } }) }
  })

describe('what it finds', () => {
  test.each(variantNames)('%s: a violation exactly where the search finds one', (id) => {
    const sizes = sizesOf(id)
    const { failure, runs } = new PropertyRunner(sizes, { runs: 1_500, seed: 2 }).run()
    const broken = sizes.some(({ scenario }) => check(scenario).outcome === 'violated')
    expect(failure !== undefined).toBe(broken)
    if (failure === undefined) {
      expect(runs).toBe(1_500)
      return
    }
    // Nothing smaller fails: the search of every smaller size says so.
    const [{ property }] = failure.found.findings
    const smaller = sizes.slice(0, sizes.indexOf(failure.size))
    for (const { scenario } of smaller) {
      expect(check({ ...scenario, properties: [property] }).outcome).toBe('holds')
    }
    const { scenario } = failure.size
    const { findings, choicesLeft } = replay(scenario, decodeSchedule(scenario, failure.schedule))
    expect({ findings, choicesLeft }).toEqual({ findings: failure.found.findings, choicesLeft: 0 })
  })

  test('only what was asked for', () => {
    const asked = { runs: 500, seed: 1, properties: ['P7' as const] }
    expect(new PropertyRunner(sizesOf('capped'), asked).run().failure).toBeUndefined()
  })
})

describe('the same again', () => {
  const plain = { runs: 1_500, seed: 5 }

  test('equal seeds give equal runs', () => {
    const first = new PropertyRunner(sizesOf('fixed-four-header64'), plain).run()
    expect(new PropertyRunner(sizesOf('fixed-four-header64'), plain).run()).toEqual(first)
  })

  test('a path comes to the same failure at once', () => {
    const sizes = sizesOf('gloo-deferred')
    const { failure } = new PropertyRunner(sizes, plain).run()
    const again = new PropertyRunner(sizes, { ...plain, path: failure?.path ?? '' }).run()
    expect(again.failure?.schedule).toBe(failure?.schedule)
    expect(again.runs).toBe(1)
  })

  test.each(['x', '0', '0/', '1:2', '99999999/0'])('the path %j is none', (path) => {
    const run = () => new PropertyRunner(sizesOf('stabilized'), { ...plain, path }).run()
    expect(run).toThrow(expect.objectContaining({ code: 'PPC121' }))
  })

  test('the path of another scenario fails no more', () => {
    const run = () => new PropertyRunner(sizesOf('stabilized'), { ...plain, path: '0/0' }).run()
    expect(run).toThrow(expect.objectContaining({ code: 'PPC121' }))
  })
})

test('coverage tells what was never reached', () => {
  const onlyFull = sizesOf('gated').map(({ pp, steps }) => {
    const mask = 'empty' as const
    return {
      pp,
      steps,
      scenario: fieldScenario('gated', { pp, workload: { steps, choices: [{ mask }] } }),
    }
  })
  const { coverage } = new PropertyRunner(onlyFull, { runs: 200, seed: 1 }).run()
  const never = Object.keys(coverage.operations).filter((key) => coverage.operations[key] === 0)
  expect(never.some((operation) => operation.includes('sampled'))).toBe(true)
  const { coverage: all } = new PropertyRunner(sizesOf('gated'), { runs: 500, seed: 1 }).run()
  expect(Object.values(all.operations).every((reached) => reached > 0)).toBe(true)
})

test('runs that differ in nothing are counted once', () => {
  const count = (id: string) =>
    new PropertyRunner(sizesOf(id), { runs: 400, seed: 1, properties: ['P7'] }).run().different
  // Nothing is left to choose on the last rung: one run for each of the six sizes.
  expect(count('stabilized')).toBe(6)
  expect(count('capped')).toBeGreaterThan(20)
})

test('what clean runs exclude: the rule of three', () => {
  for (const runs of [10, 1_000, 100_000]) {
    expect((1 - excludedProbability(runs)) ** runs).toBeCloseTo(0.05, 6)
    expect(excludedProbability(runs) * runs).toBeLessThan(3)
  }
})
