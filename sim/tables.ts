// Interns an XState machine into integer tables: XState is asked once for each local state and
// event, and never again. There is no second description of a machine: what is explored is what
// this file read out of it. Machines that are not pure or not finite are refused with the reason.

import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { initialTransition, transition } from 'xstate'
import { fail } from '../spec/error.ts'

/** An effect of a transition: the name and the parameters of its action. */
export interface TableEffect {
  readonly type: string
  readonly params: unknown
}

/** One local state of a machine. */
export interface LocalState {
  /** The XState state value, a state name of a flat machine. */
  readonly value: string
  readonly context: unknown
  readonly meta: Readonly<Record<string, unknown>>
  readonly final: boolean
  readonly snapshot: AnyMachineSnapshot
}

/** A machine as tables. Local state 0 is the initial one. */
export interface MachineTable {
  readonly states: readonly LocalState[]
  readonly eventCount: number
  /** `next[state * eventCount + event]`, −1 where the event is not accepted. */
  readonly next: Int32Array
  /** Effects of the same transition. */
  readonly effects: readonly (readonly TableEffect[])[]
}

const statesMax = 65_535

// XState's own bookkeeping actions: already applied to the snapshot, nothing for an interpreter.
const isInternal = (type: string): boolean => type === 'xstate.assign' || type.startsWith('#')

/**
 * Reads a machine out into tables.
 * @param events every event that the environment may send, in the order of their numbers.
 * @throws PpcheckError PPC210 (not finite), PPC211 (not pure: two calls disagree), PPC212 (uses
 *   timers, spawned machines or inline functions, which have no meaning as data).
 */
export function internMachine(
  machine: AnyStateMachine,
  events: readonly { readonly type: string }[],
): MachineTable {
  const states: LocalState[] = []
  const numbers = new Map<string, number>()
  const rows: number[][] = []
  const effects: (readonly TableEffect[])[] = []

  const intern = (snapshot: AnyMachineSnapshot): number => {
    const key = keyOf(snapshot)
    const known = numbers.get(key)
    if (known !== undefined) return known
    if (states.length >= statesMax) {
      fail('PPC210', `machine ${machine.id} has more than ${statesMax} local states`)
    }
    if (Object.keys(snapshot.children).length > 0) {
      fail('PPC212', `machine ${machine.id} spawns machines in ${JSON.stringify(snapshot.value)}`)
    }
    deepFreeze(snapshot.context)
    const number = states.length
    numbers.set(key, number)
    states.push({
      value: typeof snapshot.value === 'string' ? snapshot.value : JSON.stringify(snapshot.value),
      context: snapshot.context,
      meta: Object.values(snapshot.getMeta())[0] ?? {},
      final: snapshot.status === 'done',
      snapshot,
    })
    return number
  }

  intern(initialTransition(machine)[0])
  for (let state = 0; state < states.length; state++) {
    const row: number[] = []
    const { snapshot } = states[state]
    for (const event of events) {
      if (snapshot.status === 'done' || !snapshot.can(event)) {
        row.push(-1)
        effects.push([])
        continue
      }
      const [next, actions] = transition(machine, snapshot, event)
      const [again, actionsAgain] = transition(machine, snapshot, event)
      const found = effectsOf(machine.id, actions)
      const same =
        keyOf(next) === keyOf(again) &&
        JSON.stringify(found) === JSON.stringify(effectsOf(machine.id, actionsAgain))
      if (!same) {
        fail('PPC211', `machine ${machine.id}: ${states[state].value} on ${event.type} is not pure`)
      }
      row.push(intern(next))
      effects.push(found)
    }
    rows.push(row)
  }
  return { states, eventCount: events.length, next: Int32Array.from(rows.flat()), effects }
}

/** Canonical text of a snapshot: equal local states have equal keys. */
export function keyOf(snapshot: AnyMachineSnapshot): string {
  return JSON.stringify([snapshot.value, snapshot.context, snapshot.status])
}

function effectsOf(
  machineId: string,
  actions: readonly { readonly type: string; readonly params: unknown }[],
): TableEffect[] {
  const found: TableEffect[] = []
  for (const { type, params } of actions) {
    if (isInternal(type)) continue
    if (type.startsWith('xstate.') || type === 'actions') {
      fail('PPC212', `machine ${machineId}: effect ${type} is a timer, a message or a function`)
    }
    // A bare name is an `assign`: XState has applied it and lists only what is left to do.
    found.push({
      type,
      params: params === undefined ? undefined : JSON.parse(JSON.stringify(params)),
    })
  }
  return found
}

function deepFreeze(value: unknown): void {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const inner of Object.values(value)) deepFreeze(inner)
}
