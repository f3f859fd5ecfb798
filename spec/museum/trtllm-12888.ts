// Sends that are only completed by the next turn of a loop that has stopped turning.

import { consume, type Operation, pend, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const relay = { communicator: 'relay', dtype: 'int32', shape: [1], stream: 'cpu' } as const
const engine = (name: string, idle: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'what is sent in a step moves when the loop comes round again',
      communicators: { relay: { kind: 'pair' } },
      first: [
        consume({ on: 'host', stepsAgo: 'pp', after: 'state', adopts: [], generationCheck: true }),
        pend(),
        send('state', { ...relay, peer: 'last', stepsAgo: 1 }),
      ],
      last: [receive('state', { ...relay, peer: 'first' })],
      idle: { first: idle },
    }),
    { workload: { steps: 3 } },
  )

export const trtllm12888 = defineCase({
  id: 'trtllm-12888',
  family: 'B05',
  reports: [
    { id: 'TensorRT-LLM#12888', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/12888' },
    { id: 'TensorRT-LLM#12964', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/12964' },
  ],
  mechanism:
    'Pending sends are tested at the top of the executor loop. When the loop goes ' +
    'idle nobody tests them, and the receive of the peer never completes.',
  engine: 'TensorRT-LLM, PP, MPI',
  knobs: ['idle'],
  exhibits: [
    {
      when: 'before',
      name: 'nothing moves when idle',
      violates: 'P10',
      scenario: () => engine('idle-unpolled', []),
    },
    {
      when: 'after',
      name: 'pending sends are completed when idle',
      scenario: () => engine('idle-polled', [send('state', { ...relay, peer: 'last' })]),
    },
  ],
})
