// Several groups, another order on one rank.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const op = (communicator: string): Operation =>
  collective(communicator, { communicator, stream: 'main', dtype: 'bfloat16', shape: [8] })
const groups = { a: { kind: 'group' }, b: { kind: 'group' }, c: { kind: 'group' } } as const
const engine = (name: string, middle: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'collectives of three groups on one stream',
      communicators: groups,
      first: [op('a'), op('b'), op('c')],
      middle,
      last: [op('a'), op('b'), op('c')],
    }),
    { pp: 3 },
  )

export const pytorch129140 = defineCase({
  id: 'pytorch-129140',
  family: 'H10',
  reports: [
    { id: 'pytorch#129140', url: 'https://github.com/pytorch/pytorch/issues/129140' },
    { id: 'pytorch#174288', url: 'https://github.com/pytorch/pytorch/issues/174288' },
  ],
  mechanism:
    'Collectives of several process groups are issued in another order on one of ' +
    'the ranks, and on one stream each stands behind the one that the other rank ' +
    'has not issued yet.',
  engine: 'PyTorch, several process groups',
  knobs: ['xcomm', 'order'],
  exhibits: [
    {
      when: 'before',
      name: 'another order on one rank',
      violates: 'P1',
      scenario: () => engine('another-order', [op('b'), op('a'), op('c')]),
    },
    {
      when: 'after',
      name: 'one order',
      scenario: () => engine('one-order', [op('a'), op('b'), op('c')]),
    },
  ],
})
