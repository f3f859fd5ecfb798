// A receive that the last rank does not answer in some steps.

import { pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const gate = ['mask'] as const
const onMain = sampled({ stream: 'main', communicator: 'pipeline' })
const engine = (name: string, guard: readonly 'mask'[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'V1 tokens on the pipeline communicator',
      communicators: { pipeline: { kind: 'group' } },
      receives: [onMain, pend()],
      sends: [when(guard, onMain)],
    }),
    { workload: { choices: [{}, { mask: 'empty' }] } },
  )

export const vllm41160 = defineCase({
  id: 'vllm-41160',
  family: 'A29',
  reports: [{ id: 'vllm#41160', url: 'https://github.com/vllm-project/vllm/issues/41160' }],
  mechanism:
    'With decode-context parallelism the watchdog finds the earlier stages in the ' +
    'receive of tokens while the last stage is elsewhere.',
  engine: 'vLLM V1 runner, PP with decode-context parallelism',
  knobs: ['skip'],
  inferred: 'The cause is not in the report: this is the plain skip that would look like ' + 'it.',
  exhibits: [
    {
      when: 'before',
      name: 'the last stage skips a step',
      violates: 'P1',
      scenario: () => engine('root-skips', gate),
    },
    { when: 'after', name: 'a send in every step', scenario: () => engine('root-sends', []) },
  ],
})
