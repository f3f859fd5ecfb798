// Blocks of a preempted request are freed while a step in flight still writes them.

import { done, hostWait, launch, type Operation, pend, release } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the forward pass writes cache blocks',
      computes: [
        launch('forward', { stream: 'main', writes: ['blocks'] }),
        ...waits,
        release('blocks'),
      ],
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
  )

export const vllm45357 = defineCase({
  id: 'vllm-45357',
  family: 'G03',
  reports: [{ id: 'vllm#45357', url: 'https://github.com/vllm-project/vllm/pull/45357' }],
  mechanism:
    'Cache blocks of an aborted or preempted request are freed while a step in ' +
    'flight still writes them, and a connector hands them to another request.',
  engine: 'vLLM, PP, KV connector',
  knobs: ['buf', 'window'],
  inferred: 'The fence by step number is modelled as a wait for the step.',
  exhibits: [
    {
      when: 'before',
      name: 'freed in flight',
      violates: 'P9',
      scenario: () => engine('freed-in-flight', []),
    },
    {
      when: 'after',
      name: 'freed behind a fence',
      scenario: () => engine('fenced', [hostWait(done('forward'))]),
    },
  ],
})
