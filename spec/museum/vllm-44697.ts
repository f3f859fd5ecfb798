// Positions drift where only the rank that samples learns how many drafts were rejected.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, afterForward, afterSample, counts, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, adopts: readonly string[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'counts travel with the tokens; receivers may ignore them',
      consumes: [adopt({ after: 'counts', adopts })],
      receives: [afterForward, sampled(), counts(), pend()],
      sends: [afterSample, sampled(), counts()],
    }),
    { workload: { choices: [{}, { rejected: 2 }] } },
  )

export const vllm44697 = defineCase({
  id: 'vllm-44697',
  family: 'A05',
  reports: [{ id: 'vllm#44697', url: 'https://github.com/vllm-project/vllm/issues/44697' }],
  mechanism:
    'Every rank counts all drafts as accepted and only the last one takes the ' +
    'rejected ones back, because the correction hangs on a tensor that exists ' +
    'nowhere else. The others read and write the cache at positions that drift.',
  engine: 'vLLM V2 runner, PP with speculative decoding',
  knobs: ['acct'],
  exhibits: [
    {
      when: 'before',
      name: 'optimistic positions are kept',
      violates: 'P12',
      scenario: () => engine('optimistic', ['sampled']),
    },
    {
      when: 'after',
      name: 'counts are adopted before the next use',
      scenario: () => engine('counted', ['sampled', 'counts']),
    },
  ],
})
