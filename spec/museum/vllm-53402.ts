// The field report itself, one exhibit for each of its hazards, at the smallest pipeline that
// has it.

import { fieldScenario } from '../protocols/index.ts'
import { defineCase } from './museum-case.ts'

export const vllm53402 = defineCase({
  id: 'vllm-53402',
  family: 'A01',
  reports: [{ id: 'vllm#53402', url: 'https://github.com/vllm-project/vllm/issues/53402' }],
  mechanism:
    'The last rank sends by its own mask while the others always receive drafts; ' +
    'one step more in flight than ranks, or a draft graph that waits for an idle ' +
    'device, closes a circle through device places and activations.',
  engine: 'vLLM V2 runner, async, PP8, DSpark with 5 drafts',
  knobs: ['skip', 'mask', 'ops', 'window', 'xcomm', 'hostblk', 'graph'],
  exhibits: [
    {
      when: 'before',
      name: 'schedule by the mask of the last rank (H1)',
      violates: 'P2',
      scenario: () => fieldScenario('upstream-fork', { pp: 3 }),
    },
    {
      when: 'before',
      name: 'pp + 1 steps in flight, two places, eager drafts (H2)',
      violates: 'P1',
      scenario: () => fieldScenario('fixed-four-header64', { pp: 3, ...eager }),
    },
    {
      when: 'after',
      name: 'the same, capped at pp',
      scenario: () => fieldScenario('capped', { pp: 3, ...eager }),
    },
    {
      when: 'before',
      name: 'one place, and activations beside tokens (H3)',
      violates: 'P1',
      scenario: () =>
        fieldScenario('capped', { pp: 3, ...eager, device: { residentCollectives: 1 } }),
    },
    {
      when: 'before',
      name: 'tokens on the CPU, host waits for the draft (H4)',
      violates: 'P1',
      scenario: () => fieldScenario('gloo-deferred', { pp: 3, switches: { receive: 'blocking' } }),
    },
    {
      when: 'before',
      name: 'tokens on the CPU, draft as one full graph (H5)',
      violates: 'P1',
      scenario: () => fieldScenario('gloo-deferred', { pp: 3 }),
    },
    {
      when: 'after',
      name: 'CPU transport and eager drafts',
      scenario: () => fieldScenario('stabilized', { pp: 3 }),
    },
  ],
})

const eager = { switches: { draftExecution: 'eager', headerCheck: 'consume' } } as const
