// The machines that programs become, and the refusals of what is no program or scenario.

import { describe, expect, test } from 'vitest'
import { createActor, initialTransition, transition } from 'xstate'
import { numberBatches } from '../../sim/workload-batches.ts'
import { batchFrom, fullBatch, withEmptyMask } from '../../spec/batch.ts'
import { createEngineMachine } from '../../spec/engine-machine.ts'
import { done, launch, pend, reply, send, when } from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import { createRankMachine } from '../../spec/rank-machine.ts'
import { programOf } from '../../spec/resolve-program.ts'
import { defineScenario } from '../../spec/scenario.ts'

const protocol = defineProtocol({
  name: 'small',
  summary: 'guards and peers',
  communicators: { hop: { kind: 'pair' } },
  roles: {
    others: {
      execute: [launch('forward', { stream: 'main' })],
      sample: [when(['mask'], launch('adopt', { stream: 'main' })), pend()],
    },
    last: {
      execute: [
        send('back', {
          communicator: 'hop',
          stream: 'main',
          peer: 'next',
          dtype: 'int32',
          shape: [1],
        }),
      ],
      sample: [launch('sample', { stream: 'main' }), reply(done('sample'))],
    },
  },
})

describe("a rank's machine follows its program", () => {
  const machine = createRankMachine(programOf(protocol, 0, 2))
  const run = (batch: ReturnType<typeof fullBatch>): string[] => {
    let [snapshot] = initialTransition(machine)
    const visited: string[] = []
    const go = (event: { type: string }) => {
      ;[snapshot] = transition(machine, snapshot, event)
      visited.push(String(snapshot.value))
    }
    go({ type: 'EXECUTE', batch } as { type: string })
    while (snapshot.value !== 'await-sample' && visited.length < 9) go({ type: 'PROCEED' })
    go({ type: 'SAMPLE' })
    while (snapshot.value !== 'await-execute' && visited.length < 9) go({ type: 'PROCEED' })
    return visited
  }

  test('all operations with a full mask', () => {
    expect(run(fullBatch())).toEqual([
      'execute 1: launch forward',
      'await-sample',
      'sample 1: launch adopt',
      'sample 2: keep the pending receive',
      'await-execute',
    ])
  })

  test('a guarded operation is passed over', () => {
    expect(run(withEmptyMask(fullBatch()))).not.toContain('sample 1: launch adopt')
  })

  test('of an empty step nothing is sampled: only the reply is left', () => {
    const empty = { ...fullBatch(), empty: true }
    expect(run(empty).slice(-2)).toEqual(['await-sample', 'await-execute'])
    const last = createRankMachine(programOf(protocol, 1, 2))
    let [snapshot] = initialTransition(last)
    for (const event of [{ type: 'EXECUTE', batch: empty }, { type: 'SAMPLE' }]) {
      ;[snapshot] = transition(last, snapshot, event)
    }
    expect(snapshot.value).toBe('sample 2: reply after sample')
    ;[snapshot] = transition(last, snapshot, { type: 'PROCEED' })
    expect(snapshot.value).toBe('await-execute')
  })

  test('it runs in a real actor as well', () => {
    const actor = createActor(machine).start()
    actor.send({ type: 'EXECUTE', batch: fullBatch() })
    expect(actor.getSnapshot().value).toBe('execute 1: launch forward')
  })

  test('an operation whose peer does not exist is left out', () => {
    expect(programOf(protocol, 1, 2).execute).toEqual([])
  })
})

test('the engine keeps at most a window in flight, retires in order, and drains when idle', () => {
  const machine = createEngineMachine(2)
  const [start] = initialTransition(machine)
  const [one] = transition(machine, start, { type: 'DISPATCH' })
  const [two] = transition(machine, one, { type: 'DISPATCH' })
  expect(two.can({ type: 'DISPATCH' })).toBe(false)
  const [idle] = transition(machine, two, { type: 'IDLE' })
  expect(idle.can({ type: 'DISPATCH' })).toBe(false)
  expect(idle.can({ type: 'RETIRE' })).toBe(true)
  expect(start.can({ type: 'RETIRE' })).toBe(false)
})

const refused = (code: string, text: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(text) })

describe('what is no protocol or scenario is refused, with the place', () => {
  const { roles } = protocol
  test.each([
    ['no roles', { ...protocol, roles: {} }, 'roles'],
    [
      'an unknown operation',
      { ...protocol, roles: { ...roles, last: { execute: [{ do: 'fly' }], sample: [] } } },
      'last.execute[0]',
    ],
    ['an undeclared communicator', { ...protocol, communicators: {} }, 'not declared'],
  ])('%s', (_what, value, text) => {
    expect(() => defineProtocol(value as never)).toThrow(refused('PPC201', text))
  })

  test.each([
    [{ topology: { pp: 2, window: 0 } }, 'topology.window'],
    [{ topology: { pp: 1, window: 1 } }, 'topology.pp'],
    [{ topology: { pp: 2, window: 1 }, devise: {} }, 'devise'],
    [{ topology: { pp: 2, window: 1 }, faults: [{ kind: 'stall', rank: 7 }] }, 'rank 7'],
  ])('%j', (input, text) => {
    expect(() => defineScenario({ ...input, protocol } as never)).toThrow(refused('PPC202', text))
  })

  test('a mask of another length than its requests', () => {
    expect(() => batchFrom({ requests: 2, mask: [true] })).toThrow(refused('PPC202', 'mask'))
  })
})

describe('what no program can see costs no states', () => {
  const choices = (variant: string) =>
    numberBatches(fieldScenario(variant, { pp: 2, properties: ['P1'] })).choices.length

  test('masks and proposals are one batch on a fixed schedule, three on a gated one', () => {
    expect(choices('fixed-four-header64')).toBe(1)
    expect(choices('upstream-fork')).toBe(3)
  })

  test('a narrow header sees masks, if P11 is asked for', () => {
    const scenario = fieldScenario('fixed-four', { pp: 2, properties: ['P11'] })
    expect(numberBatches(scenario).choices.length).toBe(2)
  })
})
