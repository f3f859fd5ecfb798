// Warm-up: a rank without room skips what the others run.

import { collective, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const work = (guarded: boolean): Operation[] => {
  const one = collective('warm-tp', {
    communicator: 'group',
    stream: 'main',
    dtype: 'bfloat16',
    shape: [8],
  })
  const two = collective('warm-world', {
    communicator: 'world',
    stream: 'main',
    dtype: 'bfloat16',
    shape: [8],
  })
  return guarded ? [when(['mask'], one), two] : [one, two]
}
const engine = (name: string, own: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'a warm-up batch with collectives of two groups',
      communicators: { world: { kind: 'group' } },
      first: work(own),
      last: work(own),
    }),
    { workload: { steps: 1 }, ...(own ? { faults: [{ kind: 'own-mask' as const }] } : {}) },
  )

export const trtllm13998 = defineCase({
  id: 'trtllm-13998',
  family: 'B10',
  reports: [{ id: 'TensorRT-LLM#13998', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/13998' }],
  mechanism:
    'The warm-up batch does not fit on some ranks, which skip it, while the ' +
    'others run its collectives on the tensor and the world communicator.',
  engine: 'TensorRT-LLM, start-up',
  knobs: ['sched', 'xcomm'],
  exhibits: [
    {
      when: 'before',
      name: 'one rank skips the warm-up',
      violates: 'P10',
      scenario: () => engine('own-warm-up', true),
    },
    {
      when: 'after',
      name: 'ranks agree on what is skipped',
      scenario: () => engine('agreed-warm-up', false),
    },
  ],
})
