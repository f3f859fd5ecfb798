// A branch for "no state" that all ranks took, the root among them.

import { type Operation, pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'steps in which the last rank has nothing to sample',
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, ...last],
    }),
    { workload: { choices: [{}, { mask: 'empty' }] } },
  )

export const vllm40749 = defineCase({
  id: 'vllm-40749',
  family: 'A09',
  reports: [{ id: 'vllm#40749', url: 'https://github.com/vllm-project/vllm/pull/40749' }],
  mechanism:
    'When the last rank has no state to sample from, every rank takes the branch ' +
    'that receives; the others then stand in a receive that has no sender.',
  engine: 'vLLM V1 runner, PP2 and PP3, async, KV offload',
  knobs: ['root', 'skip'],
  inferred:
    'That the last rank goes on after its assertion was mended, and sends nothing ' +
    'in such a step.',
  exhibits: [
    {
      when: 'before',
      name: 'receivers wait for a step without a sender',
      violates: 'P10',
      scenario: () => engine('no-state', [when(['mask'], sampled())]),
    },
    {
      when: 'after',
      name: 'the root sends in every step in which others receive',
      scenario: () => engine('always-sent', [sampled()]),
    },
  ],
})
