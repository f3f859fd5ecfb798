// A communicator that is created on first use needs everyone, and an idle rank has no use for
// it.

import { collective, type Operation, rendezvous, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, lazy: boolean): Scenario => {
  const guard = lazy ? (['mask'] as const) : []
  const other = (peer: 'first' | 'last'): Operation[] => [
    when(guard, rendezvous('create', peer)),
    collective('all-reduce', {
      communicator: 'group',
      stream: 'main',
      dtype: 'bfloat16',
      shape: [8],
    }),
  ]
  return staged(
    peers(name, {
      summary: 'the draft sub-communicator',
      first: other('last'),
      last: other('first'),
    }),
    lazy ? { faults: [{ kind: 'own-mask', step: 0 }] } : {},
  )
}

export const sglang29144 = defineCase({
  id: 'sglang-29144',
  family: 'E10',
  reports: [{ id: 'sglang#29144', url: 'https://github.com/sgl-project/sglang/issues/29144' }],
  mechanism:
    'The sub-communicator of the drafter is created when it is first used, which ' +
    'needs all ranks; an idle data-parallel rank does not draft and does not ' +
    'come.',
  engine: 'SGLang, data parallel, speculative decoding',
  knobs: ['modload', 'skip'],
  exhibits: [
    {
      when: 'before',
      name: 'created by those that draft',
      violates: 'P1',
      scenario: () => engine('lazy-creation', true),
    },
    {
      when: 'after',
      name: 'created by all at start',
      scenario: () => engine('eager-creation', false),
    },
  ],
})
