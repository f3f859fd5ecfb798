// A broadcast on one rank, a reduction on the other.

import { broadcast, collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const form = { communicator: 'group', stream: 'main', dtype: 'int64', shape: [1] } as const
const engine = (name: string, last: Operation): Scenario =>
  staged(
    peers(name, {
      summary: 'a decision shared by all ranks',
      first: [collective('decide', form)],
      last: [last],
    }),
  )

export const lightning19045 = defineCase({
  id: 'lightning-19045',
  family: 'part B',
  reports: [
    {
      id: 'pytorch-lightning#19045',
      url: 'https://github.com/Lightning-AI/pytorch-lightning/issues/19045',
    },
  ],
  mechanism:
    'A branch taken on one rank only makes it enter a broadcast where the others ' +
    'enter a reduction, and a fingerprint of both shows it.',
  engine: 'PyTorch Lightning, data parallel',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'another kind',
      violates: 'P2',
      scenario: () => engine('kinds', broadcast('decide', { ...form, root: 'first' })),
    },
    {
      when: 'after',
      name: 'the same kind',
      scenario: () => engine('one-kind', collective('decide', form)),
    },
  ],
})
