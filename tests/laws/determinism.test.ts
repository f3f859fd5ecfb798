// Same input, same bytes: whatever was computed before, and however often.

import { expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check, checkpointIdentity } from '../../sim/search/check.ts'
import { decodeCheckpoint, encodeCheckpoint } from '../../sim/search/checkpoint.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'

const cases = () => [
  fieldScenario('capped', { pp: 3 }),
  fieldScenario('upstream-fork', { pp: 3 }),
  fieldScenario('stabilized', { pp: 4, device: { residentCollectives: 1 } }),
  fieldScenario('stabilized', { pp: 2, faults: [{ kind: 'lost-rpc' }], workload: { steps: 3 } }),
]

test('verdicts are equal with cold and warm caches and in any order', () => {
  const first = cases().map((scenario) => check(scenario))
  const again = cases()
    .reverse()
    .map((scenario) => check(scenario))
    .reverse()
  expect(again).toEqual(first)
})

test('replays and explanations are equal', () => {
  for (const scenario of cases()) {
    for (const { schedule } of check(scenario).counterexamples) {
      const tell = () =>
        JSON.stringify(explain(replay(scenario, decodeSchedule(scenario, schedule))))
      expect(tell()).toBe(tell())
    }
  }
})

test('another seed changes the walks, never the outcome', () => {
  for (const scenario of cases()) {
    const outcomes = [1, 2, 3].map((seed) => check(scenario, { seed }).outcome)
    expect(new Set(outcomes).size).toBe(1)
  }
})

test('a search that was stopped and resumed ends like one that was not', () => {
  const scenario = fieldScenario('capped', {
    pp: 4,
    switches: { draftExecution: 'eager', headerCheck: 'consume' },
  })
  const whole = check(scenario)
  let ticks = 0
  let bytes: Uint8Array | undefined
  const stopped = check(scenario, {
    onProgress: () => ticks > 0,
    checkpoint: {
      isDue: () => ++ticks === 1,
      save: (checkpoint) => {
        bytes = encodeCheckpoint(checkpoint)
      },
    },
  })
  expect(stopped.scope.kind).toBe('bounded')
  const identity = checkpointIdentity(scenario, {})
  const resume = decodeCheckpoint(bytes ?? new Uint8Array(), identity)
  const { bytes: _, ...rest } = check(scenario, { resume })
  const { bytes: __, ...expected } = whole
  expect(rest).toEqual(expected)
  const other = checkpointIdentity(fieldScenario('capped', { pp: 3 }), {})
  const refused = (code: string) => expect.objectContaining({ code })
  expect(() => decodeCheckpoint(bytes ?? new Uint8Array(), other)).toThrow(refused('PPC304'))
  expect(() => decodeCheckpoint((bytes ?? new Uint8Array()).slice(0, -3), identity)).toThrow(
    refused('PPC303'),
  )
  const damaged = (bytes ?? new Uint8Array()).slice()
  damaged[damaged.length - 9] ^= 1
  expect(() => decodeCheckpoint(damaged, identity)).toThrow(refused('PPC303'))
})
