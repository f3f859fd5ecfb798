// Logits went to every rank, every rank sampled, and the last one broadcast its tokens as well.

import { broadcast, done, type Operation, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, sends: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'all ranks sample from broadcast logits',
      consumes: [],
      beside: [
        streamWait('broadcast', done('forward')),
        broadcast('logits', {
          communicator: 'pipeline',
          stream: 'broadcast',
          root: 'last',
          dtype: 'bfloat16',
          shape: ['R', 100],
        }),
      ],
      communicators: { pipeline: { kind: 'group' } },
      receives: [],
      sends,
    }),
  )
const onPipeline = sampled({ communicator: 'pipeline' })

export const vllm33701 = defineCase({
  id: 'vllm-33701',
  family: 'A08',
  reports: [{ id: 'vllm#33701', url: 'https://github.com/vllm-project/vllm/pull/33701' }],
  mechanism:
    'With an external launcher the logits reach all ranks and each samples for ' +
    'itself; the last rank nevertheless broadcasts tokens that nobody receives. ' +
    'The next collective of the group pairs with them.',
  engine: 'vLLM V1 runner, torchrun launcher, PP2, async',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'the last rank sends, nobody receives',
      violates: 'P2',
      scenario: () => engine('sends-anyway', [afterSample, onPipeline]),
    },
    {
      when: 'before',
      name: 'the same, when the engine goes idle',
      violates: 'P10',
      scenario: () => engine('sends-anyway-idle', [afterSample, onPipeline]),
    },
    {
      when: 'after',
      name: 'no send where outputs are broadcast',
      scenario: () => engine('no-send', []),
    },
  ],
})
