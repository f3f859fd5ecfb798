// Bulk runs: each depends on seed and number alone, all interleavings come up, and what fails
// replays through XState and fails in the exhaustive search as well.

import { describe, expect, test } from 'vitest'
import { BulkRun } from '../../sim/bulk-run.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { broadcast, done, launch, poll, reply, streamWait } from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'
import { batchChoices, fieldScenario, variantNames, variants } from '../../spec/protocols/index.ts'
import { defineScenario, type Scenario } from '../../spec/scenario.ts'

const scenarioOf = (id: string, pp: number, steps: number): Scenario => {
  const variant = variants.find((each) => each.id === id)
  if (variant === undefined) throw new Error(id)
  return fieldScenario(id, { pp, workload: { steps, choices: batchChoices(variant) } })
}

/** Two ranks; the first polls for tokens, which the last one sends or not. */
function polling(sends: boolean): Scenario {
  const tokens = broadcast('tokens', {
    communicator: 'token',
    stream: 'broadcast',
    root: 'last',
    dtype: 'int64',
    shape: ['R'],
  })
  const own = [launch('sample', { stream: 'main' }), reply(done('sample'))]
  const sent = [streamWait('broadcast', done('sample')), tokens]
  return defineScenario({
    topology: { pp: 2, window: 2 },
    workload: { steps: 2 },
    protocol: defineProtocol({
      name: 'polling',
      summary: 'tokens that are polled for',
      communicators: { token: { kind: 'group' } },
      roles: {
        others: {
          execute: [launch('forward', { stream: 'main' })],
          sample: [tokens, poll(done('tokens'))],
        },
        last: {
          execute: [launch('forward', { stream: 'main' })],
          sample: sends ? [...own, ...sent] : own,
        },
      },
    }),
  })
}

describe('what it finds', () => {
  test.each(variantNames)('%s: a violation exactly where the search finds one', (id) => {
    for (const [pp, steps] of [
      [2, 4],
      [3, 3],
    ]) {
      const scenario = scenarioOf(id, pp, steps)
      const failure = new BulkRun(scenario, 7).run(0, 4_000)
      expect(failure !== undefined).toBe(check(scenario).outcome === 'violated')
      if (failure === undefined) continue
      const { findings, schedule } = failure
      const trace = replay(scenario, decodeSchedule(scenario, schedule))
      expect({ findings: trace.findings, left: trace.choicesLeft }).toEqual({ findings, left: 0 })
      const properties = [findings[0].property]
      expect(check({ ...scenario, properties }).outcome).toBe('violated')
    }
  })

  test.each(['throw', 'lost-rpc', 'die', 'own-num-reqs'] as const)('faults: %s', (kind) => {
    const faulty = (properties?: Scenario['properties']) => {
      const scenario = fieldScenario('stabilized', {
        pp: 2,
        workload: { steps: 3 },
        faults: [{ kind }],
        ...(properties === undefined ? {} : { properties }),
      })
      return { found: new BulkRun(scenario, 1).run(0, 4_000), verdict: check(scenario) }
    }
    const { found, verdict } = faulty()
    expect(found !== undefined).toBe(verdict.outcome === 'violated')
  })

  test('a poll that can never hit is a livelock, and no run without an end', () => {
    expect(new BulkRun(polling(false), 1).run(0, 50)?.findings[0].property).toBe('P6')
    expect(new BulkRun(polling(true), 1).run(0, 200)).toBeUndefined()
  })

  test('only what was asked for', () => {
    const scenario = { ...scenarioOf('capped', 3, 4), properties: ['P7' as const] }
    expect(new BulkRun(scenario, 1).run(0, 500)).toBeUndefined()
  })
})

test('every local state that the full search knows is reached by some schedule', () => {
  const scenario = fieldScenario('stabilized', { pp: 2, workload: { steps: 1 } })
  const full = check(scenario, { reduction: 'none', walks: 0 })
  expect(full.outcome).toBe('holds')
  const bulk = new BulkRun(scenario, 3)
  expect(bulk.run(0, 200_000)).toBeUndefined()
  expect(bulk.rankStates).toEqual(full.rankStates)
})

describe('a run depends on its number alone', () => {
  // Wedges now and then: the number of the failing run says which schedule it was.
  const scenario = fieldScenario('fixed-four-header64', {
    pp: 3,
    switches: { draftExecution: 'eager', headerCheck: 'consume' },
    workload: { steps: 5 },
  })
  const failure = new BulkRun(scenario, 4).run(0, 20_000)

  test('it fails somewhere, and not at once', () => {
    expect(failure?.index).toBeGreaterThan(50)
  })

  test('alone, or after others: the same schedule', () => {
    const index = failure?.index ?? 0
    expect(new BulkRun(scenario, 4).run(index, index + 1)).toEqual(failure)
    const other = new BulkRun(scenario, 4)
    other.run(index + 1, index + 50)
    expect(other.run(index, index + 1)).toEqual(failure)
  })

  test('the first failure of all shards is the first failure', () => {
    const found = [0, 1, 2].flatMap((shard) => {
      const each = new BulkRun(scenario, 4).run(shard, 20_000, 3)
      return each === undefined ? [] : [each]
    })
    const first = found.sort((a, b) => a.index - b.index)[0]
    expect(first).toEqual(failure)
  })

  test('another seed, another run', () => {
    const one = new BulkRun(scenario, 6).run(0, 20_000)
    expect(one?.schedule).not.toBe(failure?.schedule)
  })
})
