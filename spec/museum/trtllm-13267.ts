// Shutdown: one relay leaves its loop before it has forwarded the last message.

import { rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, forwards: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'a chain of relays that pass on a shutdown message when the engine stops',
      first: [],
      last: [],
      idle: {
        last: [rendezvous('stop', 'first')],
        first: forwards ? [rendezvous('stop', 'last')] : [],
      },
    }),
  )

export const trtllm13267 = defineCase({
  id: 'trtllm-13267',
  family: 'B04',
  reports: [{ id: 'TensorRT-LLM#13267', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/13267' }],
  mechanism:
    'At shutdown of three or more stages, a relay thread leaves its loop before ' +
    'it has passed the shutdown message on, and the next one waits for it. (One ' +
    'of three causes that the report names.)',
  engine: 'TensorRT-LLM, PP3 and more, MPI relay',
  knobs: ['shut'],
  exhibits: [
    {
      when: 'before',
      name: 'leaves before it forwards',
      violates: 'P1',
      scenario: () => engine('leaves-early', false),
    },
    {
      when: 'after',
      name: 'a symmetric shutdown message',
      scenario: () => engine('symmetric', true),
    },
  ],
})
