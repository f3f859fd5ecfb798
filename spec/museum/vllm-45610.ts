// Graph or eager: each stage decides for itself, and the padded size goes over the wire.

import { receive, send, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, own: boolean): Scenario => {
  const form = {
    communicator: 'neighbour',
    dtype: 'bfloat16',
    stream: 'side',
    peer: 'last',
  } as const
  const back = { ...form, peer: 'first' } as const
  return staged(
    peers(name, {
      summary: 'hidden states padded to the graph size, or not',
      communicators: { neighbour: { kind: 'pair' } },
      first: own
        ? [
            when(['mask'], send('states', { ...form, shape: [8] })),
            when(['no-mask'], send('states', { ...form, shape: [7] })),
          ]
        : [send('states', { ...form, shape: [8] })],
      last: own
        ? [
            when(['mask'], receive('states', { ...back, shape: [8] })),
            when(['no-mask'], receive('states', { ...back, shape: [7] })),
          ]
        : [receive('states', { ...back, shape: [8] })],
    }),
    own ? { faults: [{ kind: 'own-mask' }] } : {},
  )
}

export const vllm45610 = defineCase({
  id: 'vllm-45610',
  family: 'C01',
  reports: [
    { id: 'vllm#45610', url: 'https://github.com/vllm-project/vllm/issues/45610' },
    { id: 'vllm#45094', url: 'https://github.com/vllm-project/vllm/issues/45094' },
  ],
  mechanism:
    'Every stage decides by itself whether a step runs as a graph with padded ' +
    'tokens or eagerly without. Where two neighbours decide differently, the size ' +
    'of what they exchange differs.',
  engine: 'vLLM, PP with CUDA graphs',
  knobs: ['graph', 'width'],
  exhibits: [
    {
      when: 'before',
      name: 'decided by each rank',
      violates: 'P2',
      scenario: () => engine('own-mode', true),
    },
    { when: 'after', name: 'one mode by consensus', scenario: () => engine('one-mode', false) },
  ],
})
