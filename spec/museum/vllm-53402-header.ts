// What the header of the field report can and cannot say.

import { fieldScenario } from '../protocols/index.ts'
import { defineCase } from './museum-case.ts'

export const vllm53402Header = defineCase({
  id: 'vllm-53402-header',
  family: 'X15',
  reports: [{ id: 'vllm#53402', url: 'https://github.com/vllm-project/vllm/issues/53402' }],
  mechanism:
    'The header names the step and a hash of the mask. As int32 it cannot carry ' +
    'half of all hashes, validated after the payload was taken it comes too late, ' +
    'and equal masks over other rows it does not see.',
  engine: 'vLLM V2 runner, PP, the field report',
  knobs: ['gen', 'dtype', 'mask'],
  inferred: 'These are hazards read off the header; only the first was reported.',
  exhibits: [
    {
      when: 'before',
      name: 'int32',
      violates: 'P11',
      scenario: () => fieldScenario('fixed-four', { pp: 2 }),
    },
    {
      when: 'after',
      name: 'int64',
      scenario: () => fieldScenario('stabilized', { pp: 2, faults: [{ kind: 'own-mask' }] }),
    },
    {
      when: 'before',
      name: 'without the number of requests',
      violates: 'P2',
      scenario: () =>
        fieldScenario('fixed-four', {
          pp: 2,
          faults: [{ kind: 'own-num-reqs' }],
          device: { residentCollectives: 4 },
          switches: { draftExecution: 'eager' },
        }),
    },
    {
      when: 'before',
      name: 'equal masks over other rows',
      violates: 'P3',
      scenario: () =>
        fieldScenario('stabilized', { pp: 2, faults: [{ kind: 'own-rows' }], workload: {} }),
    },
  ],
})
