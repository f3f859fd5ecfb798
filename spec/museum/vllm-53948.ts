// Receives that are posted some steps later: on a communicator of their own, and flushed when
// idle.

import { type Operation, pend, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, peers, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const deferred = sampled({ stepsAgo: 1 })
const engine = (name: string, idle: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the receive of a step is posted one step later',
      receives: [pend(), afterForward, deferred],
      sends: [afterSample, sampled()],
      idle: { others: idle },
    }),
  )
const shared = (name: string, late: boolean): Scenario => {
  const pipe = { communicator: 'pipeline', stream: 'main' } as const
  const tokens = sampled(pipe)
  return staged(
    peers(name, {
      summary: 'tokens and activations on one communicator',
      communicators: { pipeline: { kind: 'group' } },
      first: late
        ? [
            send('activations', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'last' }),
            send('activations-next', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'last' }),
            tokens,
          ]
        : [
            send('activations', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'last' }),
            tokens,
            send('activations-next', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'last' }),
          ],
      last: [
        receive('activations', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'first' }),
        tokens,
        receive('activations-next', { ...pipe, dtype: 'bfloat16', shape: [1], peer: 'first' }),
      ],
    }),
  )
}

export const vllm53948 = defineCase({
  id: 'vllm-53948',
  family: 'X11',
  reports: [{ id: 'vllm#53948', url: 'https://github.com/vllm-project/vllm/pull/53948' }],
  mechanism:
    'Receives are posted some steps later, so that kernels do not spin for so ' +
    'long. What is not yet posted when the engine goes idle leaves the root ' +
    'unmatched, and on the communicator of the activations the order turns round.',
  engine: 'vLLM V2 runner, PP, a proposal',
  knobs: ['idle', 'order'],
  inferred:
    'The shared communicator is a hazard read off the code; the proposal uses one ' +
    'of its own and flushes.',
  exhibits: [
    {
      when: 'before',
      name: 'nothing is flushed when idle',
      violates: 'P10',
      scenario: () => engine('unflushed', []),
    },
    { when: 'after', name: 'flushed when idle', scenario: () => engine('flushed', [sampled()]) },
    {
      when: 'before',
      name: 'on the communicator of the activations',
      violates: 'P1',
      scenario: () => shared('shared-late', true),
    },
    {
      when: 'after',
      name: 'posted at once, the order is common',
      scenario: () => shared('shared-early', false),
    },
  ],
})
