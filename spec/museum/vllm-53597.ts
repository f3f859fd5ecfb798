// An exception on a rank that does not answer is only logged; the rank goes on one step behind.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, throws: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'exceptions of earlier ranks are swallowed',
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
    throws
      ? { pp: 3, faults: [{ kind: 'throw', rank: 0, step: 1 }], workload: { steps: 5 } }
      : { pp: 3 },
  )

export const vllm53597 = defineCase({
  id: 'vllm-53597',
  family: 'I02',
  reports: [
    { id: 'vllm#53597', url: 'https://github.com/vllm-project/vllm/issues/53597' },
    { id: 'vllm#23985', url: 'https://github.com/vllm-project/vllm/issues/23985' },
  ],
  mechanism:
    'A rank that is not expected to answer throws, logs it and skips its posts. ' +
    'Its receive of the next step then meets the send of this one, or the last ' +
    'rank waits until the RPC time-out.',
  engine: 'vLLM, PP, multiprocess executor',
  knobs: ['exc'],
  exhibits: [
    {
      when: 'before',
      name: 'the next receive takes the tokens of this step',
      violates: 'P2',
      scenario: () => engine('swallowed', true),
    },
    {
      when: 'before',
      name: 'and nobody reports it',
      violates: 'P4',
      scenario: () => engine('unreported', true),
    },
    {
      when: 'after',
      name: 'an exception stops every rank: none goes on',
      scenario: () => engine('propagated', false),
    },
  ],
})
