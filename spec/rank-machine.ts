// Builds the XState machine of one rank's host thread from its program. Transitions never perform
// anything: each returns its effect as data, `{ type: 'perform', params: { operation } }`, and the
// simulator, the replay and the live workers perform it. The context holds the current batch only;
// queues and step numbers belong to the environment, so that the machine stays finite.

import type { AnyStateMachine } from 'xstate'
import { assign, setup } from 'xstate'
import type { Batch } from './batch.ts'
import { fullBatch, holds } from './batch.ts'
import type { Fact, Operation } from './operation.ts'
import { describe } from './operation.ts'
import type { RankProgram } from './resolve-program.ts'

/** What the environment tells a rank's host thread. */
export type RankEvent =
  /** The engine's `execute_model` of the next step has arrived. */
  | { readonly type: 'EXECUTE'; readonly batch: Batch }
  /** The engine's `sample_tokens` of the same step has arrived. */
  | { readonly type: 'SAMPLE' }
  /** No further step will come for now. */
  | { readonly type: 'IDLE' }
  /** What the current operation waits for is there (at once, where it waits for nothing). */
  | { readonly type: 'PROCEED' }
  /** The header that was read is not the one that this rank expects. */
  | { readonly type: 'HEADER_MISMATCH' }
  /** A poll found nothing yet. */
  | { readonly type: 'POLL_MISS' }
  /** Fault: the call throws before it has posted anything; the worker logs it and goes on. */
  | { readonly type: 'THROW' }

/** Effects of a transition. `operation` indexes `operationsOf(program)`. */
export type RankEffect =
  | { readonly type: 'begin-step' }
  | { readonly type: 'perform'; readonly operation: number }
  | { readonly type: 'raise'; readonly operation: number }
  | { readonly type: 'skip-sample' }

interface RankContext {
  readonly batch: Batch
}

/** All operations of a program in one list: the indices that effects refer to. */
export const operationsOf = (program: RankProgram): readonly Operation[] => [
  ...program.execute,
  ...program.sample,
  ...program.idle,
]

const noBatch = fullBatch(0)
const forget = { type: 'forgetBatch' }

type Phase = 'execute' | 'sample' | 'idle'
const afterPhase: Record<Phase, string> = {
  execute: 'await-sample',
  sample: 'await-execute',
  idle: 'await-execute',
}

/**
 * The XState v5 machine of a rank. States: `await-execute`, `await-sample`, one for each operation
 * (named after it), and the final state `raised`.
 */
export function createRankMachine(program: RankProgram): AnyStateMachine {
  const operations = operationsOf(program)
  const firstOf: Record<Phase, number> = {
    execute: 0,
    sample: program.execute.length,
    idle: program.execute.length + program.sample.length,
  }
  const lengthOf: Record<Phase, number> = {
    execute: program.execute.length,
    sample: program.sample.length,
    idle: program.idle.length,
  }
  const nameOf = (index: number) => stateName(program, index)

  const machine = setup({
    types: {
      context: {} as RankContext,
      events: {} as RankEvent,
    },
    actions: {
      // Implementations are never run: an effect is the action's name and its parameters.
      'begin-step': () => {},
      perform: (_, _params: { operation: number }) => {},
      raise: (_, _params: { operation: number }) => {},
      'skip-sample': () => {},
      // Between two steps there is no batch: local states do not multiply by the last one.
      forgetBatch: assign({ batch: noBatch }),
      adoptBatch: assign(({ event, context }) =>
        event.type === 'EXECUTE' ? { batch: event.batch } : context,
      ),
    },
    guards: {
      // EXECUTE brings the batch with it: the guard reads it before it is in the context.
      batch: ({ context, event }, params: { facts: readonly Fact[] }) =>
        holds(event.type === 'EXECUTE' ? event.batch : context.batch, params.facts),
    },
  })

  /** Where control goes from a position: the first operation whose guard holds, or the end. */
  const goTo = (phase: Phase, from: number, actions: readonly object[]) => {
    const branches: object[] = []
    for (let index = from; index < lengthOf[phase]; index++) {
      const operation = operations[firstOf[phase] + index]
      const facts = operation.when ?? []
      const target = nameOf(firstOf[phase] + index)
      if (facts.length === 0) return [...branches, { target, actions }]
      branches.push({ target, actions, guard: { type: 'batch', params: { facts } } })
    }
    const end = afterPhase[phase]
    return [
      ...branches,
      { target: end, actions: end === 'await-execute' ? [...actions, forget] : actions },
    ]
  }

  /**
   * Where control goes when the step is empty: nothing is sampled, so `sample` is not called and
   * all that is left of its part is the reply, which is then that of `execute`.
   */
  const onEmptyStep = (from: number, actions: readonly object[]) => {
    const branches: object[] = []
    for (let index = from; index < lengthOf.sample; index++) {
      const operation = operations[firstOf.sample + index]
      if (operation.do !== 'reply') continue
      const facts: Fact[] = ['no-tokens', ...(operation.when ?? [])]
      const target = nameOf(firstOf.sample + index)
      branches.push({ target, actions, guard: { type: 'batch', params: { facts } } })
    }
    const guard = { type: 'batch', params: { facts: ['no-tokens'] } }
    return [...branches, { guard, target: 'await-execute', actions: [...actions, forget] }]
  }

  const states: Record<string, object> = {
    'await-execute': {
      on: {
        EXECUTE: goTo(
          'execute',
          0,
          ['adoptBatch', 'begin-step'].map((type) => ({ type })),
        ),
        ...(lengthOf.idle > 0 ? { IDLE: goTo('idle', 0, []) } : {}),
      },
    },
    'await-sample': {
      on: {
        SAMPLE: [...onEmptyStep(0, []), ...goTo('sample', 0, [])],
        THROW: { target: 'await-execute', actions: [{ type: 'skip-sample' }, forget] },
      },
    },
    raised: { type: 'final' },
  }
  for (const phase of ['execute', 'sample', 'idle'] as const) {
    for (let index = 0; index < lengthOf[phase]; index++) {
      const operation = firstOf[phase] + index
      const params = { operation }
      const form = operations[operation]
      const on: Record<string, unknown> = {}
      if (form.do === 'raise') {
        on['PROCEED'] = { target: 'raised', actions: [{ type: 'raise', params }] }
      } else {
        const actions = [{ type: 'perform', params }]
        const isReply = phase === 'sample' && form.do === 'reply'
        on['PROCEED'] = [
          ...(isReply ? onEmptyStep(index + 1, actions) : []),
          ...goTo(phase, index + 1, actions),
        ]
      }
      if (form.do === 'check-header') {
        on['HEADER_MISMATCH'] = { target: 'raised', actions: [{ type: 'raise', params }] }
      }
      if (form.do === 'poll') on['POLL_MISS'] = { target: nameOf(operation) }
      states[nameOf(operation)] = { on, meta: { operation } }
    }
  }
  // States are built from data, so their names are no literal types: the precise type says `never`.
  return machine.createMachine({
    id: `rank-${program.rank}`,
    initial: 'await-execute',
    context: { batch: noBatch },
    states: states as never,
  }) as unknown as AnyStateMachine
}

/** The state's name: phase, position and the operation in words (dots would nest states). */
export function stateName(program: RankProgram, operation: number): string {
  const execute = program.execute.length
  const sample = program.sample.length
  const [phase, index] =
    operation < execute
      ? ['execute', operation]
      : operation < execute + sample
        ? ['sample', operation - execute]
        : ['idle', operation - execute - sample]
  const words = describe(operationsOf(program)[operation]).replaceAll('.', ' ')
  return `${phase} ${Number(index) + 1}: ${words}`
}
