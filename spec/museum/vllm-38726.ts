// Chunk steps are skipped by a mask that each rank derives from its own history.

import { pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const gate = ['mask'] as const
const onMain = sampled({ stream: 'main', communicator: 'pipeline', dtype: 'int32' })
const engine = (name: string, guard: readonly 'mask'[], faulty: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'V1: tokens on the pipeline communicator and the current stream',
      consumes: [adopt()],
      communicators: { pipeline: { kind: 'group' } },
      receives: [when(guard, onMain), when(guard, pend())],
      sends: [when(guard, onMain)],
    }),
    {
      workload: { choices: [{}, { mask: 'empty' }] },
      ...(faulty ? { faults: [{ kind: 'own-mask' as const }] } : {}),
    },
  )

export const vllm38726 = defineCase({
  id: 'vllm-38726',
  family: 'A11',
  reports: [
    { id: 'vllm#38726', url: 'https://github.com/vllm-project/vllm/pull/38726' },
    { id: 'vllm-ascend#8468', url: 'https://github.com/vllm-project/vllm-ascend/pull/8468' },
  ],
  mechanism:
    'To let prefill chunks overlap, both sides skip the broadcast when every row ' +
    'is a chunk that is not the last, each by a mask of its own. It holds while ' +
    'the masks are equal; a rank whose cached lengths differ skips alone.',
  engine: 'vLLM V1 runner, PP2, async, chunked prefill',
  knobs: ['mask', 'skip'],
  inferred: 'That cached lengths can differ; the report only made chunks overlap.',
  exhibits: [
    {
      when: 'control',
      name: 'a broadcast in every step: slow and safe',
      scenario: () => engine('every-step', [], false),
    },
    {
      when: 'after',
      name: 'skipped by equal masks',
      scenario: () => engine('equal-masks', gate, false),
    },
    {
      when: 'before',
      name: 'one rank has a mask of its own',
      violates: 'P1',
      scenario: () => engine('own-history', gate, true),
    },
  ],
})
