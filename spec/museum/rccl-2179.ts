// Two graphs with operations of one communicator, replayed in either order.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const op = (name: string): Operation =>
  collective(name, {
    communicator: 'group',
    stream: 'main',
    dtype: 'bfloat16',
    shape: name === 'graph-a' ? [8] : [4],
  })
const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'two replayed graphs, each with a collective',
      first: [op('graph-a'), op('graph-b')],
      last,
    }),
  )

export const rccl2179 = defineCase({
  id: 'rccl-2179',
  family: 'C08',
  reports: [
    { id: 'rccl#2179', url: 'https://github.com/ROCm/rccl/issues/2179' },
    { id: 'pytorch#196133', url: 'https://github.com/pytorch/pytorch/issues/196133' },
  ],
  mechanism:
    'Two captured graphs contain operations of one communicator and are replayed ' +
    'concurrently, so that ranks start them in different orders.',
  engine: 'any, graphs with collectives',
  knobs: ['graph', 'order'],
  inferred: 'Concurrent replay is modelled by the order that it may lead to.',
  exhibits: [
    {
      when: 'before',
      name: 'another order on one rank',
      violates: 'P2',
      scenario: () => engine('crossed-graphs', [op('graph-b'), op('graph-a')]),
    },
    {
      when: 'after',
      name: 'one order on all ranks',
      scenario: () => engine('ordered-graphs', [op('graph-a'), op('graph-b')]),
    },
  ],
})
