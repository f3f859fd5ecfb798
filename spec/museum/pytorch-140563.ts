// Sizes that differ by a row, in an otherwise equal sequence.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, size: number): Scenario => {
  const gather = (elements: number): Operation =>
    collective('gather', {
      communicator: 'group',
      stream: 'main',
      dtype: 'bfloat16',
      shape: [elements],
    })
  return staged(
    peers(name, {
      summary: 'the same sequence of collectives on both ranks',
      first: [gather(1025)],
      last: [gather(size)],
    }),
  )
}

export const pytorch140563 = defineCase({
  id: 'pytorch-140563',
  family: 'J02',
  reports: [
    { id: 'pytorch#140563', url: 'https://github.com/pytorch/pytorch/issues/140563' },
    { id: 'nccl#1417', url: 'https://github.com/NVIDIA/nccl/issues/1417' },
  ],
  mechanism:
    'Ranks issue the same sequence of operations with different sizes. The ' +
    'library negotiates nothing: the operation hangs, moves part of the data, or ' +
    'breaks a later one.',
  engine: 'any, NCCL',
  knobs: ['width'],
  exhibits: [
    {
      when: 'before',
      name: 'another size',
      violates: 'P2',
      scenario: () => engine('other-size', 262144),
    },
    {
      when: 'before',
      name: 'seen as a hang',
      violates: 'P1',
      scenario: () => engine('other-size-hang', 262144),
    },
    { when: 'after', name: 'equal sizes', scenario: () => engine('equal-size', 1025) },
  ],
})
