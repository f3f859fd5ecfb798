// Warm-up by the runner alone: no activations, and a receive whose sender is not warmed up.

import { type Operation, pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'a warm-up step that each rank runs by itself',
      receives: [afterForward, sampled(), pend()],
      sends: last,
    }),
    { workload: { script: [{ firstUse: true }], choices: [{}] } },
  )

export const vllm36280 = defineCase({
  id: 'vllm-36280',
  family: 'A31',
  reports: [{ id: 'vllm#36280', url: 'https://github.com/vllm-project/vllm/pull/36280' }],
  mechanism:
    'Warm-up calls the model runner directly and not the worker, so what ranks ' +
    'exchange in a step is not exchanged: earlier ranks post the token receive ' +
    'and the last one sends nothing.',
  engine: 'vLLM V2 runner, PP, start-up',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'the first step has no sender',
      violates: 'P2',
      scenario: () => engine('bare-warm-up', [afterSample, when(['not-first-use'], sampled())]),
    },
    {
      when: 'after',
      name: 'warmed up through the worker',
      scenario: () => engine('worker-warm-up', [afterSample, sampled()]),
    },
  ],
})
