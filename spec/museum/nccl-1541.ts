// Small operations that nobody matches, hidden by buffering for as long as it lasts.

import { done, hostWait, type Operation, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const note: Operation = send('note', {
  communicator: 'pair',
  stream: 'side',
  dtype: 'int32',
  shape: [1],
  peer: 'last',
})
const take: Operation = receive('note', {
  communicator: 'pair',
  stream: 'side',
  dtype: 'int32',
  shape: [1],
  peer: 'first',
})
const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'a small notice a step',
      communicators: { pair: { kind: 'pair' } },
      first: [note, hostWait(done('note'))],
      last,
    }),
  )

export const nccl1541 = defineCase({
  id: 'nccl-1541',
  family: 'part B',
  reports: [{ id: 'nccl#1541', url: 'https://github.com/NVIDIA/nccl/issues/1541' }],
  mechanism:
    'A pipeline hangs after some number of steps, and the number moves with the ' +
    'buffer size: small operations without a counterpart fit into buffers until ' +
    'they do not.',
  engine: 'any, PP training, NCCL',
  knobs: ['ops'],
  inferred: 'Buffering is left out: without it the first such operation shows.',
  exhibits: [
    {
      when: 'before',
      name: 'nobody receives',
      violates: 'P1',
      scenario: () => engine('unmatched', []),
    },
    { when: 'after', name: 'every notice is received', scenario: () => engine('matched', [take]) },
  ],
})
