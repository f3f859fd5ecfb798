// Memory of one stream, written by a collective of another, freed by the first.

import { collective, done, hostWait, type Operation, release } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario => {
  const work = [
    collective('gather', {
      communicator: 'group',
      stream: 'nccl',
      dtype: 'bfloat16',
      shape: [8],
      writes: ['output'],
    }),
    ...waits,
    release('output'),
  ]
  return staged(
    peers(name, {
      summary: 'a collective on its own stream writes memory of another',
      first: work,
      last: work,
    }),
  )
}

export const pytorch188655 = defineCase({
  id: 'pytorch-188655',
  family: 'F10',
  reports: [
    { id: 'pytorch#188655', url: 'https://github.com/pytorch/pytorch/issues/188655' },
    { id: 'pytorch#132292', url: 'https://github.com/pytorch/pytorch/issues/132292' },
  ],
  mechanism:
    'A buffer is allocated on one stream and written by a collective on another; ' +
    'it goes back to the allocator before the collective has written, and a new ' +
    'tensor receives its output.',
  engine: 'PyTorch, NCCL, three streams',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'before',
      name: 'freed by the allocating stream',
      violates: 'P9',
      scenario: () => engine('freed', []),
    },
    {
      when: 'after',
      name: 'kept alive until the collective is done',
      scenario: () => engine('recorded', [hostWait(done('gather'))]),
    },
  ],
})
