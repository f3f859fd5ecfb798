// A worker raises before the collective in which its driver already waits.

import { collective, done, hostWait, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const reduce: Operation = collective('all-reduce', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const engine = (name: string, throws: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'driver and worker in a tensor-parallel collective',
      first: [reduce],
      last: [reduce, hostWait(done('all-reduce'))],
    }),
    throws ? { faults: [{ kind: 'throw', rank: 0 }], workload: { steps: 2 } } : {},
  )

export const vllm3455 = defineCase({
  id: 'vllm-3455',
  family: 'I09',
  reports: [{ id: 'vllm#3455', url: 'https://github.com/vllm-project/vllm/issues/3455' }],
  mechanism:
    'A worker raises before it enters the collective; the driver is already ' +
    'inside and never comes round to collecting the exception.',
  engine: 'vLLM, TP',
  knobs: ['exc'],
  exhibits: [
    {
      when: 'before',
      name: 'the worker raises first',
      violates: 'P1',
      scenario: () => engine('raises', true),
    },
    {
      when: 'after',
      name: 'nothing raises between the call and the collective',
      scenario: () => engine('entered', false),
    },
  ],
})
