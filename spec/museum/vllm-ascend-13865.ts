// Counts are read after the batch was condensed: they belong to other rows by then.

import { freeRows, type Operation, pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, consumes: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'counts of accepted tokens are taken per row',
      consumes,
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
    { faults: [{ kind: 'request-reused', step: 2 }], workload: { steps: 3 } },
  )
const take: Operation = adopt({ generationCheck: false })

export const vllmAscend13865 = defineCase({
  id: 'vllm-ascend-13865',
  family: 'F13',
  reports: [
    { id: 'vllm-ascend#13865', url: 'https://github.com/vllm-project/vllm-ascend/pull/13865' },
  ],
  mechanism:
    'Counts of accepted tokens are read after rows were moved together, so a row ' +
    'takes the count of another.',
  engine: 'vllm-ascend, speculative decoding',
  knobs: ['slot'],
  exhibits: [
    {
      when: 'before',
      name: 'read after the rows have moved',
      violates: 'P8',
      scenario: () => engine('condensed-first', [freeRows(), take]),
    },
    {
      when: 'after',
      name: 'read before',
      scenario: () => engine('read-first', [take, freeRows()]),
    },
  ],
})
