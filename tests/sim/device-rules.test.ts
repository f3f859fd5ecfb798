// The rules of page 2.3, one by one: for each a small scenario in which it decides the verdict.

import { describe, expect, test } from 'vitest'
import { check } from '../../sim/search/check.ts'
import type { Operation } from '../../spec/operation.ts'
import {
  broadcast,
  collective,
  done,
  launch,
  reply,
  streamWait,
  when,
} from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import { defineScenario, type ScenarioInput } from '../../spec/scenario.ts'

const outcomeOf = (scenario: Parameters<typeof check>[0]) => {
  const { outcome, counterexamples } = check(scenario)
  return counterexamples[0]?.property ?? outcome
}

test('residency: two places deadlock where three do not (pp 3, window 4, eager drafts)', () => {
  const at = (residentCollectives: number) =>
    fieldScenario('fixed-four-header64', {
      pp: 3,
      switches: { draftExecution: 'eager', headerCheck: 'consume' },
      device: { residentCollectives },
    })
  expect(outcomeOf(at(2))).toBe('P1')
  expect(outcomeOf(at(3))).toBe('holds')
})

/** Two collectives of two communicators, launched in this order by each rank. */
const two = (
  orders: readonly [readonly ('a' | 'b')[], readonly ('a' | 'b')[]],
  device: ScenarioInput['device'],
  more: readonly Operation[] = [],
) => {
  const post = (name: 'a' | 'b') =>
    collective(name, { communicator: name, stream: name, dtype: 'int32', shape: [1] })
  return defineScenario({
    topology: { pp: 2, window: 1 },
    device,
    protocol: defineProtocol({
      name: 'two',
      summary: 'two collectives of two communicators in one step',
      communicators: { a: { kind: 'group' }, b: { kind: 'group' } },
      roles: {
        others: { execute: [...more], sample: orders[0].map(post) },
        last: {
          execute: [launch('work', { stream: 'main' }), ...more],
          sample: [reply(done('work')), ...orders[1].map(post)],
        },
      },
    }),
  })
}

describe('launch order', () => {
  const same = [
    ['a', 'b'],
    ['a', 'b'],
  ] as const
  const crossed = [
    ['a', 'b'],
    ['b', 'a'],
  ] as const

  test.each([
    ['free', same, 1, 'P10'],
    ['free', same, 2, 'holds'],
    ['host-program', same, 1, 'holds'],
    ['serial', same, 1, 'holds'],
    ['free', crossed, 2, 'holds'],
    ['host-program', crossed, 2, 'holds'],
    ['host-program', crossed, 1, 'P10'],
    ['serial', crossed, 2, 'P10'],
  ] as const)('%s, order %s, %i places: %s', (launchOrder, orders, places, expected) => {
    const found = outcomeOf(two(orders, { residentCollectives: places, launchOrder }))
    expect(found === 'P1' ? 'P10' : found).toBe(expected)
  })
})

const token = (name: string, stream: string) =>
  broadcast(name, { communicator: name, stream, root: 'last', dtype: 'int32', shape: [1] })

/** Two ranks with these sample calls on communicators b and c. */
const pair = (others: Operation[], last: Operation[], device: ScenarioInput['device']) =>
  defineScenario({
    topology: { pp: 2, window: 1 },
    device: { residentCollectives: 3, ...device },
    protocol: defineProtocol({
      name: 'pair',
      summary: 'two communicators on streams of their own',
      communicators: { b: { kind: 'group' }, c: { kind: 'group' } },
      roles: {
        others: { execute: [], sample: others },
        last: {
          execute: [launch('work', { stream: 'main' })],
          sample: [reply(done('work')), ...last],
        },
      },
    }),
  })

test('hardware queues: a wait holds up an unrelated stream that shares its queue', () => {
  // The last rank sends b only once c is complete; rank 0 launches c behind a wait for b.
  const wait = streamWait('s1', done('b'))
  const others = [token('b', 's2'), wait, launch('x', { stream: 's1' }), token('c', 's3')]
  const last = [token('c', 's3'), streamWait('s2', done('c')), token('b', 's2')]
  expect(outcomeOf(pair(others, last, { hardwareQueues: 0 }))).toBe('holds')
  expect(['P1', 'P10']).toContain(outcomeOf(pair(others, last, { hardwareQueues: 1 })))
})

test('eager depth: a root that may run ahead undoes a crossed order', () => {
  const others = [token('b', 's2'), token('c', 's3')]
  const last = [token('c', 's3'), token('b', 's2')]
  const at = (eager: number) =>
    outcomeOf(pair(others, last, { eager, residentCollectives: 1, launchOrder: 'host-program' }))
  expect(at(0)).toBe('P10')
  expect(at(1)).toBe('holds')
})

test('lazy module loading: a first use waits for a device without collectives', () => {
  const scenario = (moduleLoading: 'eager' | 'lazy') => {
    const token = broadcast('tokens', {
      communicator: 'token',
      stream: 'side',
      root: 'last',
      dtype: 'int32',
      shape: [1],
    })
    const load = launch('kernel', { stream: 'main', loadsModule: true })
    return defineScenario({
      topology: { pp: 2, window: 2 },
      device: { moduleLoading, residentCollectives: 2 },
      workload: { choices: [{ firstUse: true }] },
      protocol: defineProtocol({
        name: 'first-use',
        summary:
          'rank 0 posts its receive, then uses a kernel; the last rank waits for that kernel',
        communicators: { token: { kind: 'group' }, hand: { kind: 'group' } },
        roles: {
          others: {
            execute: [token, load, streamWait('hand', done('kernel')), hand],
            sample: [],
          },
          last: {
            execute: [hand, streamWait('side', done('hand')), token],
            sample: [launch('sample', { stream: 'main' }), reply(done('sample'))],
          },
        },
      }),
    })
  }
  const hand = broadcast('hand', {
    communicator: 'hand',
    stream: 'hand',
    root: 'first',
    dtype: 'int32',
    shape: [1],
  })
  expect(outcomeOf(scenario('eager'))).toBe('holds')
  expect(['P1', 'P10']).toContain(outcomeOf(scenario('lazy')))
})

test("guards read the rank's own batch", () => {
  const guarded = two([['a'], ['a']], {}, [when(['no-mask'], launch('extra', { stream: 'main' }))])
  expect(outcomeOf(guarded)).toBe('holds')
})
