// A pause is complete when queues are empty, and the device is still at work.

import { done, hostWait, launch, type Operation, pend, release } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'weights are taken away when the engine has paused',
      computes: [launch('forward', { stream: 'main', reads: ['weights'] })],
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled(), launch('draft', { stream: 'main', reads: ['weights'] })],
      idle: { last: [...waits, release('weights')] },
    }),
  )

export const vllm51476 = defineCase({
  id: 'vllm-51476',
  family: 'G04',
  reports: [
    { id: 'vllm#51476', url: 'https://github.com/vllm-project/vllm/issues/51476' },
    { id: 'vllm#52914', url: 'https://github.com/vllm-project/vllm/issues/52914' },
  ],
  mechanism:
    'A pause counts as complete when no request and no batch is left, which says ' +
    'nothing of the device. A weight update or sleep that follows takes memory ' +
    'that is still read.',
  engine: 'vLLM, pause and sleep',
  knobs: ['shut'],
  exhibits: [
    {
      when: 'before',
      name: 'weights go while a draft reads them',
      violates: 'P9',
      scenario: () => engine('paused', []),
    },
    {
      when: 'after',
      name: 'the device is waited for',
      scenario: () => engine('drained', [hostWait(done('draft'))]),
    },
  ],
})
