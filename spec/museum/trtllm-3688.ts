// The source of an asynchronous send is collected when the function returns.

import { done, hostWait, type Operation, receive, release, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const relay = { communicator: 'relay', dtype: 'int32', shape: [1000], stream: 'cpu' } as const
const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'a local buffer is sent without waiting',
      communicators: { relay: { kind: 'pair' } },
      first: [
        send('state', { ...relay, peer: 'last', reads: ['local'] }),
        ...waits,
        release('local'),
      ],
      last: [receive('state', { ...relay, peer: 'first' })],
    }),
  )

export const trtllm3688 = defineCase({
  id: 'trtllm-3688',
  family: 'B06',
  reports: [{ id: 'TensorRT-LLM#3688', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/3688' }],
  mechanism:
    'The source of a non-blocking send larger than the eager limit is a local ' +
    'buffer, which is freed when the function returns. The peer receives garbage ' +
    'or nothing.',
  engine: 'TensorRT-LLM, PP4, MPI',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'before',
      name: 'freed while it is sent',
      violates: 'P9',
      scenario: () => engine('freed', []),
    },
    {
      when: 'after',
      name: 'waited for before returning',
      scenario: () => engine('waited', [hostWait(done('state'))]),
    },
  ],
})
