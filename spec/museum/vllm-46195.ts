// The rank that sends is lost, and nobody else notices.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, dies: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'receivers wait for a rank that may be gone',
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
    dies ? { pp: 3, faults: [{ kind: 'die', rank: 2 }], workload: { steps: 4 } } : { pp: 3 },
  )

export const vllm46195 = defineCase({
  id: 'vllm-46195',
  family: 'A27',
  reports: [{ id: 'vllm#46195', url: 'https://github.com/vllm-project/vllm/issues/46195' }],
  mechanism:
    'The device of the last rank is lost. The others stay in the receive of its ' +
    'tokens, their processes are alive and report health, and only the RPC ' +
    'time-out of five minutes reacts.',
  engine: 'vLLM, PP',
  knobs: ['dead'],
  inferred:
    'There is no mended program: what is proposed is a shorter time-out, and the ' +
    'model has no clock.',
  exhibits: [
    {
      when: 'control',
      name: 'the last rank dies: no program of the others helps',
      violates: 'P1',
      scenario: () => engine('dead-root', true),
    },
    { when: 'control', name: 'nobody dies', scenario: () => engine('alive', false) },
  ],
})
