// When faults strike, and what they leave behind.

import { describe, expect, test } from 'vitest'
import { check } from '../../sim/search/check.ts'
import { done, launch, reply } from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'
import type { PropertyId } from '../../spec/properties.ts'
import { defineScenario, type FaultKind, type ScenarioInput } from '../../spec/scenario.ts'

/** Two ranks that exchange nothing: whatever goes wrong is the fault's doing. */
const alone = (input: Partial<ScenarioInput>) =>
  defineScenario({
    topology: { pp: 2, window: 2 },
    ...input,
    protocol: defineProtocol({
      name: 'alone',
      summary: 'ranks that only compute',
      communicators: {},
      roles: {
        others: { execute: [], sample: [] },
        last: {
          execute: [launch('forward', { stream: 'main' })],
          sample: [reply(done('forward'))],
        },
      },
    }),
  })

const outcomeOf = (
  kind: FaultKind,
  step: number | 'any',
  property: PropertyId,
  workload: ScenarioInput['workload'],
): string => {
  const faults = [{ kind, rank: 0, step }]
  const scenario = { ...alone({ faults, workload }), properties: [property] }
  const [full, reduced] = (['none', 'stubborn'] as const).map(
    (reduction) => check(scenario, { reduction }).outcome,
  )
  expect(reduced).toBe(full)
  return full
}

describe('a fault strikes in the step that it names', () => {
  test.each(['stall', 'die'] as const)('%s', (kind) => {
    for (const step of [1, 2, 3]) {
      expect(outcomeOf(kind, step, 'P1', { steps: step })).toBe('holds')
      expect(outcomeOf(kind, step, 'P1', { steps: step + 1 })).toBe('violated')
    }
  })

  test('also where the run has no end, and while the rank lags behind the engine', () => {
    expect(outcomeOf('stall', 4, 'P1', {})).toBe('violated')
    expect(outcomeOf('throw', 4, 'P1', {})).toBe('holds')
  })
})

test('a rank that dies when nothing is left to do has left nothing unmatched', () => {
  expect(outcomeOf('die', 'any', 'P10', { steps: 1 })).toBe('holds')
  expect(outcomeOf('die', 'any', 'P1', { steps: 1 })).toBe('violated')
})
