// One handle for a receive that is waited for a step later.

import { done, pend, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, afterSample, counts, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waited: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'asynchronous receives; the host keeps the handle of the last one only',
      consumes: [adopt({ adopts: ['sampled', 'counts'], after: waited ? 'counts' : 'sampled' })],
      receives: [sampled(), counts({ stream: 'side' }), pend()],
      sends: [
        afterSample,
        sampled(),
        streamWait('side', done('sample')),
        counts({ stream: 'side' }),
      ],
    }),
  )

export const vllm51650 = defineCase({
  id: 'vllm-51650',
  family: 'A14',
  reports: [{ id: 'vllm#51650', url: 'https://github.com/vllm-project/vllm/pull/51650' }],
  mechanism:
    'A receive became asynchronous with a single handle. Where two are posted ' +
    'before the wait, the handle of one is overwritten and its payload is used ' +
    'before it has arrived.',
  engine: 'vLLM V1 runner, PP, async',
  knobs: ['buf', 'hostblk'],
  inferred:
    'The overwritten handle: upstream posts one receive between two waits and is ' + 'sound.',
  exhibits: [
    {
      when: 'before',
      name: 'the wait of one receive is lost',
      violates: 'P3',
      scenario: () => engine('lost-wait', false),
    },
    {
      when: 'after',
      name: 'the last receive is waited for',
      scenario: () => engine('last-waited', true),
    },
  ],
})
