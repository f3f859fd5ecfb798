// A rank's XState machine, driven live. XState is asked once for each local state and event; after
// that its answer is looked up, so that a step costs microseconds. What the simulator explores and
// what runs here are the same machine.

import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { initialTransition, transition } from 'xstate'
import { type Batch, batchKey } from '../spec/batch.ts'
import { InternalError } from '../spec/error.ts'
import type { RankEffect, RankEvent } from '../spec/rank-machine.ts'

interface LiveState {
  readonly snapshot: AnyMachineSnapshot
  readonly name: string
  /** Index into operationsOf(program), or −1 where the rank waits for the engine. */
  readonly operation: number
  readonly answers: Map<string, Answer>
}

interface Answer {
  readonly next: LiveState
  readonly effects: readonly RankEffect[]
}

const isOurs = (type: string): boolean => !type.startsWith('xstate.') && !type.startsWith('#')

export class LiveMachine {
  private readonly machine: AnyStateMachine
  private readonly states = new Map<string, LiveState>()
  private state: LiveState

  constructor(machine: AnyStateMachine) {
    this.machine = machine
    this.state = this.intern(initialTransition(machine)[0])
  }

  get name(): string {
    return this.state.name
  }

  get operation(): number {
    return this.state.operation
  }

  get isRaised(): boolean {
    return this.state.snapshot.status === 'done'
  }

  /** Takes an event and returns the effects, to be performed in order. */
  send(event: RankEvent): readonly RankEffect[] {
    const key = 'batch' in event ? `${event.type}/${keyOf(event.batch)}` : event.type
    let answer = this.state.answers.get(key)
    if (answer === undefined) {
      answer = this.ask(event)
      this.state.answers.set(key, answer)
    }
    this.state = answer.next
    return answer.effects
  }

  private ask(event: RankEvent): Answer {
    const { snapshot, name } = this.state
    if (!snapshot.can(event)) throw new InternalError(`${name} does not accept ${event.type}`)
    const [next, actions] = transition(this.machine, snapshot, event)
    const effects = actions
      .filter(({ type }) => isOurs(type))
      .map(({ type, params }) => ({ type, ...(params as object) }) as unknown as RankEffect)
      .filter(({ type }) => ['begin-step', 'perform', 'raise', 'skip-sample'].includes(type))
    return { next: this.intern(next), effects }
  }

  private intern(snapshot: AnyMachineSnapshot): LiveState {
    const key = JSON.stringify([snapshot.value, snapshot.context, snapshot.status])
    const known = this.states.get(key)
    if (known !== undefined) return known
    const meta = Object.values(snapshot.getMeta())[0] as { operation?: number } | undefined
    const name = String(snapshot.value)
    const state = { snapshot, name, operation: meta?.operation ?? -1, answers: new Map() }
    this.states.set(key, state)
    return state
  }
}

const keys = new WeakMap<Batch, string>()

function keyOf(batch: Batch): string {
  let key = keys.get(batch)
  if (key === undefined) {
    key = batchKey(batch)
    keys.set(batch, key)
  }
  return key
}
