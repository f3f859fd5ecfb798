// What a machine must be to be explored: pure, finite, and with effects that are data.

import { describe, expect, test } from 'vitest'
import { assign, setup, spawnChild } from 'xstate'
import { internMachine } from '../../sim/tables.ts'

const go = [{ type: 'GO' }]

describe('a machine is read out completely', () => {
  const machine = setup({
    types: { context: {} as { count: number }, events: {} as { type: 'GO' } | { type: 'STOP' } },
    actions: { say: (_, _params: { word: string }) => {} },
    guards: { below: ({ context }) => context.count < 2 },
  }).createMachine({
    initial: 'on',
    context: { count: 0 },
    states: {
      on: {
        on: {
          GO: {
            guard: 'below',
            actions: [
              assign({ count: ({ context }) => context.count + 1 }),
              { type: 'say', params: { word: 'go' } },
            ],
          },
          STOP: 'off',
        },
      },
      off: { type: 'final' },
    },
  })
  const table = internMachine(machine, [{ type: 'GO' }, { type: 'STOP' }])

  test('three counts that are on, three that are off', () => {
    expect(table.states.map(({ value }) => value).sort()).toEqual([
      ...['off', 'off', 'off'],
      ...['on', 'on', 'on'],
    ])
  })

  test('a guard that fails is an event that is not accepted', () => {
    const last = table.states.findIndex(
      ({ value, context }) => value === 'on' && (context as { count: number }).count === 2,
    )
    expect(table.next[last * 2]).toBe(-1)
    expect(table.next[last * 2 + 1]).toBeGreaterThan(0)
  })

  test('effects keep their parameters; what XState applied itself is not among them', () => {
    expect(table.effects[0]).toEqual([{ type: 'say', params: { word: 'go' } }])
  })
})

describe('a machine that cannot be explored is refused with the reason', () => {
  test('impure: two calls disagree', () => {
    let calls = 0
    const machine = setup({
      types: { context: {} as { n: number }, events: {} as { type: 'GO' } },
    }).createMachine({
      initial: 'a',
      context: { n: 0 },
      states: { a: { on: { GO: { actions: assign({ n: () => ++calls }) } } } },
    })
    expect(() => internMachine(machine, go)).toThrow(expect.objectContaining({ code: 'PPC211' }))
  })

  test('not finite: a counter without a bound', () => {
    const machine = setup({
      types: { context: {} as { n: number }, events: {} as { type: 'GO' } },
    }).createMachine({
      initial: 'a',
      context: { n: 0 },
      states: {
        a: { on: { GO: { actions: assign({ n: ({ context }) => context.n + 1 }) } } },
      },
    })
    expect(() => internMachine(machine, go)).toThrow(expect.objectContaining({ code: 'PPC210' }))
  }, 60_000)

  test('a spawned machine has a life of its own', () => {
    const child = setup({}).createMachine({})
    const invoking = setup({ actors: { child } }).createMachine({
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { invoke: { src: 'child' } } },
    })
    const spawning = setup({ actors: { child } }).createMachine({
      initial: 'a',
      states: {
        a: { on: { GO: { target: 'b', actions: spawnChild('child') } } },
        b: {},
      },
    })
    for (const machine of [invoking, spawning]) {
      expect(() => internMachine(machine, go)).toThrow(expect.objectContaining({ code: 'PPC212' }))
    }
  })

  test('a function as an effect is no data', () => {
    const machine = setup({}).createMachine({
      initial: 'a',
      states: { a: { on: { GO: { target: 'b', actions: () => {} } } }, b: {} },
    })
    expect(() => internMachine(machine, go)).toThrow(expect.objectContaining({ code: 'PPC212' }))
  })

  test('a timer is no effect', () => {
    const machine = setup({}).createMachine({
      initial: 'a',
      states: { a: { on: { GO: 'b' } }, b: { after: { 1000: 'a' } } },
    })
    expect(() => internMachine(machine, go)).toThrow(expect.objectContaining({ code: 'PPC212' }))
  })
})
