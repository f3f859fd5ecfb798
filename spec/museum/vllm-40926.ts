// Engine and worker block on each other: a full ring, and an answer that only the engine can
// take.

import { type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, first: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'an engine and a worker joined by bounded queues',
      first,
      last: [rendezvous('output', 'first'), rendezvous('call', 'first')],
    }),
  )

export const vllm40926 = defineCase({
  id: 'vllm-40926',
  family: 'I01',
  reports: [
    { id: 'vllm#40926', url: 'https://github.com/vllm-project/vllm/issues/40926' },
    {
      id: 'tt-inference-server#2232',
      url: 'https://github.com/tenstorrent/tt-inference-server/issues/2232',
    },
  ],
  mechanism:
    'The engine blocks writing to a full ring because the worker no longer reads; ' +
    'the worker waits to hand over something that only the engine can take.',
  engine: 'vLLM, async scheduling, shared-memory ring',
  knobs: ['ctrl'],
  inferred:
    'What the worker waits for is modelled as the hand-over of an output; a full ' +
    'queue as one that has no room at all.',
  exhibits: [
    {
      when: 'before',
      name: 'each writes first',
      violates: 'P1',
      scenario: () =>
        engine('both-write', [rendezvous('call', 'last'), rendezvous('output', 'last')]),
    },
    {
      when: 'after',
      name: 'the engine takes what is there before it writes',
      scenario: () =>
        engine('drain-first', [rendezvous('output', 'last'), rendezvous('call', 'last')]),
    },
  ],
})
