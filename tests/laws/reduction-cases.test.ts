// Every scenario here once made the reduced search miss what the full search finds. Each pins one
// reason why two events do not commute although no table of one rank shows it at first sight.

import { describe, expect, test } from 'vitest'
import { check } from '../../sim/search/check.ts'
import type { Operation } from '../../spec/operation.ts'
import {
  broadcast,
  checkHeader,
  collective,
  consume,
  done,
  hostWait,
  launch,
  pend,
  poll,
  raise,
  release,
  reply,
  send,
  streamWait,
} from '../../spec/operation.ts'
import { defineProtocol, type Protocol } from '../../spec/program.ts'
import type { PropertyId } from '../../spec/properties.ts'
import { defineScenario, type Scenario, type ScenarioInput } from '../../spec/scenario.ts'

const scenarioOf = (roles: Protocol['roles'], input: Partial<ScenarioInput> = {}): Scenario =>
  defineScenario({
    topology: { pp: 2, window: 1, drafts: 1 },
    device: { residentCollectives: 3 },
    workload: { steps: 1 },
    ...input,
    protocol: defineProtocol({
      name: 'case',
      summary: 'a case in which the order of two events decides',
      communicators: {
        token: { kind: 'group' },
        other: { kind: 'group' },
        hop: { kind: 'pair' },
      },
      roles,
    }),
  })

/** What both searches say of one property; it must be the same. */
function outcomeOf(scenario: Scenario, property: PropertyId): string {
  const asked = { ...scenario, properties: [property] }
  const [full, reduced] = (['none', 'stubborn'] as const).map(
    (reduction) => check(asked, { reduction, walks: 0 }).outcome,
  )
  expect(reduced).toBe(full)
  return full
}

const post = (name: string, more: Partial<Parameters<typeof broadcast>[1]> = {}): Operation =>
  broadcast(name, {
    communicator: 'token',
    stream: 'side',
    root: 'last',
    dtype: 'int64',
    shape: ['R'],
    ...more,
  })
const header = post('header', {
  shape: [3],
  header: { fields: ['seq', 'mask_hash', 'num_reqs'], sequence: 'before-enqueue' },
})
const adopting = (more: Partial<Parameters<typeof consume>[0]> = {}): Operation =>
  consume({
    on: 'host',
    stepsAgo: 1,
    after: 'sampled',
    adopts: ['sampled'],
    generationCheck: true,
    ...more,
  })
const work = launch('work', { stream: 'main' })

test('a raise ends the run of every rank, so it must not hide what others do before it', () => {
  const checked = { execute: [], sample: [header, post('sampled'), checkHeader('header')] }
  const unchecked = { execute: [adopting()], sample: [header, post('sampled'), pend()] }
  const last = { execute: [work], sample: [reply(done('work')), header, post('sampled')] }
  const at = (
    first: typeof checked | typeof unchecked,
    others: typeof unchecked | typeof checked,
  ) =>
    scenarioOf(
      { first, others, last },
      {
        topology: { pp: 3, window: 1, drafts: 1 },
        workload: { steps: 2 },
        faults: [{ kind: 'own-mask', rank: 2, step: 0 }],
      },
    )
  expect(outcomeOf(at(checked, unchecked), 'P4')).toBe('violated')
  expect(outcomeOf(at(unchecked, checked), 'P3')).toBe('violated')
  expect(outcomeOf(at(checked, checked), 'P4')).toBe('holds')
})

describe('beside a wedge of ranks 0 and 1', () => {
  const towards = (peer: number) =>
    send('hop', { communicator: 'hop', peer, stream: 'main', dtype: 'int64', shape: [1] })
  const waiting = { execute: [towards(1), hostWait(done('hop'))], sample: [] }
  const others = { execute: [towards(0), hostWait(done('hop'))], sample: [] }
  const topology = { pp: 3, window: 2, drafts: 1 }

  test('a poll that misses does not put off a race of rank 2 for ever', () => {
    const polling = { execute: [towards(1), poll(done('hop'))], sample: [] }
    const last = (second: string) => ({
      execute: [
        launch('a', { stream: 'one', reads: ['x'] }),
        launch('b', { stream: second, writes: ['x'] }),
        work,
      ],
      sample: [reply(done('work'))],
    })
    const at = (second: string) =>
      scenarioOf({ first: polling, others, last: last(second) }, { topology })
    expect(outcomeOf(at('two'), 'P9')).toBe('violated')
    expect(outcomeOf(at('one'), 'P9')).toBe('holds')
  })

  test('a fault of the wedged ranks does not use up the one that rank 2 needs', () => {
    const last = {
      execute: [release('x'), launch('k', { stream: 'one', reads: ['x'] }), reply(done('k'))],
      sample: [hostWait(done('k'))],
    }
    const at = (faults: ScenarioInput['faults']) =>
      scenarioOf({ first: waiting, others, last }, { topology, workload: { steps: 2 }, faults })
    const stall = { kind: 'stall', rank: 0 } as const
    // Only a call that throws skips the wait, and only one fault may strike.
    expect(outcomeOf(at([stall, { kind: 'throw', rank: 2 }]), 'P9')).toBe('violated')
    expect(outcomeOf(at([stall]), 'P9')).toBe('holds')
  })
})

describe('a consumption races with what arrives', () => {
  const payloads = [post('sampled'), post('counts', { stream: 's2', communicator: 'other' })]
  const last = { execute: [work], sample: [reply(done('work')), ...payloads] }
  const at = (stepsAgo: number, adopts: string[], eager: number) =>
    scenarioOf(
      {
        others: { execute: [adopting({ stepsAgo, adopts })], sample: [...payloads, pend()] },
        last,
      },
      { workload: { steps: stepsAgo + 1 }, device: { residentCollectives: 3, eager } },
    )

  test.each([
    [1, 0],
    [2, 0],
    [1, 1],
  ])('%i steps later, with eager depth %i', (stepsAgo, eager) => {
    expect(outcomeOf(at(stepsAgo, ['sampled', 'counts'], eager), 'P3')).toBe('violated')
    expect(outcomeOf(at(stepsAgo, ['sampled'], eager), 'P3')).toBe('holds')
  })

  test('a header that is validated before it has arrived proves nothing', () => {
    const late = { ...header, communicator: 'other', stream: 's2' } as Operation
    const scenario = (after: string) =>
      scenarioOf(
        {
          others: {
            execute: [adopting({ checks: 'header', after })],
            sample: [late, post('sampled'), pend()],
          },
          last: { execute: [work], sample: [reply(done('work')), late, post('sampled')] },
        },
        { workload: { steps: 2 } },
      )
    expect(outcomeOf(scenario('sampled'), 'P5')).toBe('violated')
    expect(outcomeOf(scenario('header'), 'P5')).toBe('holds')
  })

  test('a consumption that comes late waits for the step that it takes', () => {
    // The empty step has no sample call, so the one after it takes an older slot.
    const cpu = post('sampled', { stream: 'cpu' })
    const scenario = scenarioOf(
      {
        others: { execute: [], sample: [adopting(), cpu, pend()] },
        last: { execute: [work, reply(done('work'))], sample: [cpu] },
      },
      { workload: { steps: 3, script: [{}, { empty: true }, {}] } },
    )
    expect(outcomeOf(scenario, 'P3')).toBe('holds')
  })
})

describe('eager sends', () => {
  const device = { residentCollectives: 3, eager: 1 }

  test('two senders of one communicator do not wait for each other', () => {
    const from = (root: 'first' | 1) => post(`of ${root}`, { root, shape: [1] })
    const scenario = scenarioOf(
      {
        first: { execute: [from('first')], sample: [] },
        others: { execute: [from(1)], sample: [] },
        last: { execute: [from('first'), from(1), work], sample: [reply(done('work'))] },
      },
      { topology: { pp: 3, window: 1, drafts: 1 }, device },
    )
    // Ranks 0 and 1 never post what the other one sends.
    expect(outcomeOf(scenario, 'P10')).toBe('violated')
    expect(outcomeOf(scenario, 'P2')).toBe('holds')
  })

  test('a collective without a root still is a rendezvous, behind what was sent before it', () => {
    const all = collective('all', {
      communicator: 'token',
      stream: 'side',
      dtype: 'int64',
      shape: [1],
    })
    const scenario = (others: Operation[]) =>
      scenarioOf(
        {
          others: { execute: others, sample: [] },
          last: { execute: [post('sampled'), all, work], sample: [reply(done('work'))] },
        },
        { device },
      )
    expect(outcomeOf(scenario([post('sampled'), all]), 'P10')).toBe('holds')
    expect(outcomeOf(scenario([all]), 'P10')).toBe('violated')
  })
})

test('a wait means the work that was launched before it, not later work of the same name', () => {
  const twice = {
    execute: [
      launch('a', { stream: 'one' }),
      streamWait('two', done('a')),
      launch('a', { stream: 'two' }),
    ],
    sample: [],
  }
  const scenario = scenarioOf({
    others: twice,
    last: { execute: [work], sample: [reply(done('work'))] },
  })
  expect(outcomeOf(scenario, 'P10')).toBe('holds')
  expect(outcomeOf(scenario, 'P1')).toBe('holds')
})

test('a thread of the host is no stream of the device: it takes no hardware queue', () => {
  const slow = post('sampled', { stream: 'cpu', thread: 'sender' })
  const scenario = scenarioOf(
    {
      others: {
        // Rank 0 takes the payload only once the kernel behind its own collective has run.
        execute: [post('hand', { root: 'last', communicator: 'other' }), hostWait(done('hand'))],
        sample: [post('sampled', { stream: 'cpu' })],
      },
      last: {
        execute: [work, reply(done('work'))],
        sample: [
          slow,
          streamWait('sender', done('hand')),
          streamWait('sender', done('sampled')),
          post('hand', { communicator: 'other', stream: 'late' }),
        ],
      },
    },
    { device: { residentCollectives: 3, hardwareQueues: 1 } },
  )
  expect(outcomeOf(scenario, 'P1')).toBe('holds')
})

describe('a thread races with a post of an earlier step that its host makes', () => {
  const cpu = { stream: 'cpu' } as const
  const byThread = post('sampled', { ...cpu, thread: 'sender' })
  const late = (stepsAgo: number) => post('counts', { ...cpu, shape: [3], stepsAgo })

  test('in a later step, on both sides alike', () => {
    const sample = [byThread, late(1), pend()]
    const last = { execute: [work, reply(done('work'))], sample }
    const scenario = scenarioOf(
      { others: { execute: [], sample }, last },
      { workload: { steps: 2 } },
    )
    expect(outcomeOf(scenario, 'P2')).toBe('violated')
  })

  test('at idle', () => {
    const others = { execute: [], sample: [byThread, pend()], idle: [late(0)] }
    const last = { execute: [work, reply(done('work'))], sample: [post('sampled', cpu)] }
    expect(outcomeOf(scenarioOf({ others, last }), 'P2')).toBe('violated')
  })
})

test('where two ranks raise, both ways to end are looked at', () => {
  const late = { ...header, header: { fields: ['seq'], sequence: 'after-enqueue' } } as Operation
  const scenario = (why: readonly Operation[]) =>
    scenarioOf(
      {
        others: {
          execute: [adopting({ on: 'side', after: 'header', adopts: [], checks: 'header' })],
          sample: [header, pend()],
        },
        last: { execute: [work, reply(done('work'))], sample: [late, ...why] },
      },
      { workload: { steps: 2 } },
    )
  // Rank 0 raises without a divergence; that the last rank raises on purpose is no excuse.
  expect(outcomeOf(scenario([raise('on purpose')]), 'P5')).toBe('violated')
  expect(outcomeOf(scenario([]), 'P5')).toBe('violated')
})
