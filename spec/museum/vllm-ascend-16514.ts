// A drafter with collectives inside, skipped where one rank's row would exceed a limit.

import { collective, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const draft: Operation = collective('draft-reduce', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const engine = (name: string, guarded: boolean): Scenario => {
  const work = [when(guarded ? ['mask'] : [], draft)]
  return staged(peers(name, { summary: 'a tensor-parallel drafter', first: work, last: work }), {
    faults: [{ kind: 'own-mask' }],
    workload: { choices: [{}] },
  })
}

export const vllmAscend16514 = defineCase({
  id: 'vllm-ascend-16514',
  family: 'A24',
  reports: [
    { id: 'vllm-ascend#16514', url: 'https://github.com/vllm-project/vllm-ascend/issues/16514' },
  ],
  mechanism:
    'Drafting is skipped when a row would exceed the length limit, which one rank ' +
    'finds and another does not; the drafter contains collectives that the other ' +
    'rank then enters alone.',
  engine: 'vllm-ascend, TP, speculative decoding',
  knobs: ['sched', 'ops'],
  exhibits: [
    {
      when: 'before',
      name: 'skipped on one rank',
      violates: 'P10',
      scenario: () => engine('skipped-drafter', true),
    },
    {
      when: 'after',
      name: 'a dummy drafter runs instead',
      scenario: () => engine('dummy-drafter', false),
    },
  ],
})
