// A slot is handed to another request, and what is pending for it still names the old one.

import { freeRows, pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, generationCheck: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'rows of a slot may change their owner between receive and use',
      consumes: [adopt({ generationCheck }), freeRows()],
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
    { faults: [{ kind: 'request-reused' }] },
  )

export const vllm39833 = defineCase({
  id: 'vllm-39833',
  family: 'F07',
  reports: [{ id: 'vllm#39833', url: 'https://github.com/vllm-project/vllm/pull/39833' }],
  mechanism:
    'A slot that is reused keeps the last token and the drafts of its previous ' +
    'owner, and the first decode of the new request embeds a foreign token.',
  engine: 'vLLM V2 runner, PP',
  knobs: ['slot'],
  inferred:
    'The stale value is modelled as one that is still on its way when the slot ' + 'changes hands.',
  exhibits: [
    {
      when: 'before',
      name: 'written to the new owner',
      violates: 'P8',
      scenario: () => engine('stale-slot', false),
    },
    {
      when: 'after',
      name: 'a changed owner takes nothing',
      scenario: () => engine('owner-checked', true),
    },
  ],
})
