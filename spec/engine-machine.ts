// The XState machine of the engine's batch queue (EngineCore.step_with_batch_queue): it dispatches
// a step to every rank while fewer than `window` are in flight, and retires steps in order.

import { assign, setup } from 'xstate'

/** What the environment lets the engine do. */
export type EngineEvent =
  /** Send `execute` and `sample` of the next step to every rank. */
  | { readonly type: 'DISPATCH' }
  /** The oldest step's reply has arrived. */
  | { readonly type: 'RETIRE' }
  /** No requests are left: nothing more is dispatched; what is in flight drains. */
  | { readonly type: 'IDLE' }

/**
 * The engine's machine. Context: `inFlight`, the number of steps dispatched and not yet retired.
 * @param window largest number of steps in flight (`max_concurrent_batches`).
 */
export function createEngineMachine(window: number) {
  return setup({
    types: {
      context: {} as { inFlight: number },
      events: {} as EngineEvent,
    },
    actions: {
      dispatched: assign({ inFlight: ({ context }) => context.inFlight + 1 }),
      retired: assign({ inFlight: ({ context }) => context.inFlight - 1 }),
    },
    guards: {
      roomInWindow: ({ context }) => context.inFlight < window,
      anyInFlight: ({ context }) => context.inFlight > 0,
    },
  }).createMachine({
    id: 'engine',
    initial: 'serving',
    context: { inFlight: 0 },
    states: {
      serving: {
        on: {
          DISPATCH: { guard: 'roomInWindow', actions: 'dispatched' },
          RETIRE: { guard: 'anyInFlight', actions: 'retired' },
          IDLE: { target: 'draining' },
        },
      },
      draining: {
        on: {
          RETIRE: { guard: 'anyInFlight', actions: 'retired' },
        },
      },
    },
  })
}

export type EngineMachine = ReturnType<typeof createEngineMachine>
