// Two channels that carry no common id: what the scheduler says and what the neighbour sends.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, faulty: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'scheduler output and activations on channels without a common id',
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
    faulty ? { faults: [{ kind: 'lost-rpc', rank: 1 }], workload: { steps: 4 } } : {},
  )

export const vllm15332 = defineCase({
  id: 'vllm-15332',
  family: 'A34',
  reports: [{ id: 'vllm#15332', url: 'https://github.com/vllm-project/vllm/issues/15332' }],
  mechanism:
    'A worker takes the scheduler output of one batch and the activations of ' +
    'another, because nothing but their order joins the two channels. With equal ' +
    'sizes the result is silently wrong.',
  engine: 'vLLM, PP2, Ray compiled graph',
  knobs: ['ctrl', 'slot'],
  inferred:
    'That one message of the scheduler channel was lost; any slip by one does the ' + 'same.',
  exhibits: [
    {
      when: 'before',
      name: 'one channel slips by one',
      violates: 'P2',
      scenario: () => engine('slipped', true),
    },
    { when: 'after', name: 'both channels in step', scenario: () => engine('in-step', false) },
  ],
})
