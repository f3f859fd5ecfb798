// The same model explored with XState in the loop, as one would do without ppcheck: breadth first
// through `transition()`, and through `xstate/graph`.

import { assign, createMachine, initialTransition, transition } from 'xstate'
import { getAdjacencyMap } from 'xstate/graph'
import { World } from '../../dist/sim/world.js'
import { createRankMachine } from '../../dist/spec/rank-machine.js'

/** Breadth first over the world's states; every step of a rank is asked of XState itself. */
export function throughTransition(scenario) {
  const world = new World(scenario)
  const machines = world.ranks.map(({ model }) => createRankMachine(model.program))
  const first = machines.map((machine) => initialTransition(machine)[0])
  const initial = new Int32Array(world.width)
  world.initial(initial)
  const seen = new Set([initial.join()])
  const queue = [[initial, first]]
  const buffer = []
  let stuck = 0
  for (const [state, snapshots] of queue) {
    const total = world.enabledEvents(state, 0, buffer)
    if (total === 0 && world.judgeStop(state, 0) !== undefined) stuck++
    for (const event of buffer.slice(0, total)) {
      const next = state.slice()
      if (world.fire(next, 0, event) !== undefined) {
        stuck++
        continue
      }
      const after = snapshots.slice()
      for (const [rank, own] of world.rankEvents(event)) {
        const { model } = world.ranks[rank]
        const [from, to] = [world.rankState(state, 0, rank), world.rankState(next, 0, rank)]
        const machineEvent = model.machineEvent(from, own, to)
        if (machineEvent === undefined) continue
        ;[after[rank]] = transition(machines[rank], after[rank], machineEvent)
        const expected = model.table.states[to.host].value
        if (after[rank].value !== expected) throw new Error(`XState left the path at ${expected}`)
      }
      const key = next.join()
      if (seen.has(key)) continue
      seen.add(key)
      queue.push([next, after])
    }
  }
  return { states: seen.size, outcome: stuck > 0 ? 'violated' : 'holds' }
}

/** The world as one machine whose context is the global state, explored by `xstate/graph`. */
export function throughGraph(scenario) {
  const world = new World(scenario)
  const buffer = []
  const enabled = (context) => {
    const total = world.enabledEvents(Int32Array.from(context.state), 0, buffer)
    return buffer.slice(0, total)
  }
  const fire = ({ context, event }) => {
    const state = Int32Array.from(context.state)
    const broken = world.fire(state, 0, event.event) !== undefined
    return { state: [...state], broken: context.broken || broken }
  }
  const initial = new Int32Array(world.width)
  world.initial(initial)
  const machine = createMachine({
    context: { state: [...initial], broken: false },
    on: { FIRE: { actions: assign(fire) } },
  })
  const map = getAdjacencyMap(machine, {
    events: ({ context }) =>
      context.broken ? [] : enabled(context).map((event) => ({ type: 'FIRE', event })),
    serializeState: ({ context }) => `${context.state.join()}${context.broken ? '!' : ''}`,
    limit: Number.POSITIVE_INFINITY,
  })
  let stuck = 0
  let states = 0
  for (const { state } of Object.values(map)) {
    if (state.context.broken) {
      stuck++
      continue
    }
    states++
    const vector = Int32Array.from(state.context.state)
    const isEnd = world.enabledEvents(vector, 0, buffer) === 0
    if (isEnd && world.judgeStop(vector, 0) !== undefined) stuck++
  }
  return { states, outcome: stuck > 0 ? 'violated' : 'holds' }
}
