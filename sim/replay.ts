// Runs one schedule again, event by event, and through XState itself: every host step is also a
// transition of the real machine, and the machine's state is compared with the table's. A schedule
// that the tables and XState tell differently is an error of ppcheck and is reported as one.

import type { AnyMachineSnapshot } from 'xstate'
import { initialTransition, transition } from 'xstate'
import { createEngineMachine } from '../spec/engine-machine.ts'
import { fail } from '../spec/error.ts'
import { createRankMachine } from '../spec/rank-machine.ts'
import type { Scenario } from '../spec/scenario.ts'
import type { Finding } from './rank-model.ts'
import type { Schedule } from './schedule.ts'
import type { Closure } from './search/expander.ts'
import { Expander } from './search/expander.ts'
import { endlessPoll, eventKind, kinds, World } from './world.ts'

/** One event of a run. */
export interface TraceEvent {
  readonly number: number
  readonly text: string
  /** Ranks that take part; empty for the engine alone. */
  readonly ranks: readonly number[]
  /** Was it one of several possible ones? Then this is its index and their number. */
  readonly choice?: { readonly index: number; readonly of: number }
}

/** A run, with the state in which it ends. */
export interface Trace {
  readonly scenario: Scenario
  readonly world: World
  readonly events: readonly TraceEvent[]
  readonly findings: readonly Finding[]
  /** What goes on for ever after the last event and changes nothing (P6); empty otherwise. */
  readonly loop: readonly string[]
  /** The global state after the last event. */
  readonly final: Int32Array
  /** Steps that the engine has dispatched. */
  readonly dispatched: number
  /** Choices of the schedule that were never asked for (0 unless the schedule is too long). */
  readonly choicesLeft: number
}

/** The machines beside the tables. */
class Shadow {
  private readonly world: World
  private readonly machines
  private readonly engineMachine
  private engine: AnyMachineSnapshot
  private readonly ranks: AnyMachineSnapshot[]

  constructor(world: World) {
    this.world = world
    const { topology, engineWindow } = world.scenario
    this.engineMachine = createEngineMachine(engineWindow ?? topology.window)
    this.engine = initialTransition(this.engineMachine)[0]
    this.machines = world.ranks.map(({ model }) => createRankMachine(model.program))
    this.ranks = this.machines.map((machine) => initialTransition(machine)[0])
  }

  /** Follows one event and compares. `events` are the rank's own events that it was made of. */
  follow(event: number, before: Int32Array, after: Int32Array): void {
    const kind = eventKind(event)
    if (kind === kinds.dispatch) this.engineStep('DISPATCH')
    if (kind === kinds.retire) this.engineStep('RETIRE')
    if (kind === kinds.idle) this.engineStep('IDLE')
    const { value } = this.world.engineValue(after[0])
    if (String(this.engine.value) !== value) this.disagree('the engine', this.engine.value, value)
    const own = this.world.rankEvents(event)
    for (const [rank, rankEvent] of own) {
      const table = this.world.ranks[rank]
      const { model } = table
      const [from, to] = [table.at(before[1 + rank]), table.at(after[1 + rank])]
      const machineEvent = model.machineEvent(from, rankEvent, to)
      if (machineEvent !== undefined) {
        this.ranks[rank] = transition(this.machines[rank], this.ranks[rank], machineEvent)[0]
      }
      const expected = model.table.states[to.host]
      const actual = this.ranks[rank]
      if (
        String(actual.value) !== expected.value ||
        JSON.stringify(actual.context) !== JSON.stringify(expected.context)
      ) {
        this.disagree(`rank ${rank}`, actual.value, expected.value)
      }
    }
  }

  private engineStep(type: 'DISPATCH' | 'RETIRE' | 'IDLE'): void {
    this.engine = transition(this.engineMachine, this.engine as never, { type })[0]
  }

  private disagree(who: string, machine: unknown, table: string): never {
    fail('PPC305', `${who}: XState is in ${JSON.stringify(machine)}, the tables in ${table}`)
  }
}

/**
 * Replays a schedule to its end: the first broken property, a state in which nothing can move, or
 * the last choice.
 * `observe` sees the state after every event; it must not change it.
 * @throws PpcheckError PPC302 if the schedule asks for a choice that there is not.
 */
export function replay(
  scenario: Scenario,
  schedule: Schedule,
  observe: (world: World, state: Int32Array, dispatched: number) => void = () => {},
): Trace {
  const world = new World(scenario)
  const expander = new Expander(world, schedule.reduction)
  const shadow = new Shadow(world)
  const state = new Int32Array(world.width)
  const before = new Int32Array(world.width)
  const events: TraceEvent[] = []
  const closure: Closure = { findings: undefined, events: [] }
  let findings: readonly Finding[] = []
  let loop: readonly string[] = []
  let dispatched = 0
  world.initial(state)

  const wanted = (list: readonly Finding[]): readonly Finding[] =>
    scenario.properties === undefined
      ? list
      : list.filter(({ property }) => scenario.properties?.includes(property))

  const take = (event: number, choice?: TraceEvent['choice']): void => {
    before.set(state)
    const text = world.describeEvent(state, 0, event)
    const found = world.fire(state, 0, event)
    shadow.follow(event, before, state)
    if (eventKind(event) === kinds.dispatch) dispatched++
    observe(world, state, dispatched)
    const ranks = world.participants(event)
    events.push({ number: events.length + 1, text, ranks, ...(choice ? { choice } : {}) })
    if (found !== undefined) findings = wanted(world.judge(state, 0, found))
  }

  /** Closes step by step: the search closes in one go, the replay shows every event of it. */
  const close = (): boolean => {
    const ahead = state.slice()
    for (;;) {
      closure.events.length = 0
      expander.close(ahead, 0, closure, true)
      for (const event of closure.events) {
        take(event)
        if (findings.length > 0) return true
      }
      if (closure.findings === undefined) return false
    }
  }

  const buffer: number[] = []
  let used = 0
  let ended = close()
  while (!ended) {
    const total = expander.choices(state, 0, buffer)
    if (total === 0 || world.onlyPolls(buffer, total)) {
      const stop = total === 0 ? (world.judgeStop(state, 0) ?? []) : [endlessPoll]
      findings = wanted(stop)
      loop = buffer.slice(0, total).map((event) => world.describeEvent(state, 0, event))
      break
    }
    if (used >= schedule.choices.length) break
    const index = schedule.choices[used++]
    if (index >= total) {
      fail('PPC302', `choice ${used} of the schedule is ${index}, there are ${total} ways to go on`)
    }
    take(buffer[index], total > 1 ? { index, of: total } : undefined)
    ended = findings.length > 0 || close()
  }
  const choicesLeft = schedule.choices.length - used
  return { scenario, world, events, findings, loop, final: state, dispatched, choicesLeft }
}
