// A message that makes no progress until the host calls again, and a host that blocks elsewhere.

import { done, hostWait, type Operation, receive, rendezvous, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const act = { communicator: 'neighbour', dtype: 'bfloat16', shape: [1], stream: 'side' } as const
const requests = (peer: 'first' | 'last'): Operation => rendezvous('requests', peer)
const engine = (name: string, blocking: boolean): Scenario => {
  const out: Operation[] = [
    send('activations', { ...act, peer: 'last' }),
    hostWait(done('activations')),
  ]
  return staged(
    peers(name, {
      summary: 'new requests by message, activations by NCCL',
      communicators: { neighbour: { kind: 'pair' } },
      first: blocking ? [requests('last'), ...out] : [...out, requests('last')],
      last: [requests('first'), receive('activations', { ...act, peer: 'first' })],
    }),
  )
}

export const trtllm10665 = defineCase({
  id: 'trtllm-10665',
  family: 'B03',
  reports: [{ id: 'TensorRT-LLM#10665', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/10665' }],
  mechanism:
    'A rank hands new requests to a non-blocking send that only moves inside ' +
    'further calls, then blocks in the activation send. The next rank waits for ' +
    'the requests before it receives activations.',
  engine: 'TensorRT-LLM, PP, MPI and NCCL',
  knobs: ['ctrl', 'hostblk'],
  inferred:
    'Progress of the message is modelled as coming after the call in which the ' + 'host blocks.',
  exhibits: [
    {
      when: 'before',
      name: 'the message moves only after the activations',
      violates: 'P1',
      scenario: () => engine('no-progress', false),
    },
    {
      when: 'after',
      name: 'a blocking send of the requests',
      scenario: () => engine('blocking-send', true),
    },
  ],
})
