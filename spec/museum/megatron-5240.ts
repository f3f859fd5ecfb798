// Two-rank communicators are created on first use, around a ring.

import { type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const meet = (peer: number): Operation => rendezvous('create', peer)
const engine = (name: string, even: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'each pair of neighbours of a ring creates a communicator',
      first: [meet(1), meet(2)],
      middle: even ? [meet(0), meet(2)] : [meet(2), meet(0)],
      last: even ? [meet(0), meet(1)] : [meet(0), meet(1)],
    }),
    { pp: 3, workload: { steps: 1 } },
  )

export const megatron5240 = defineCase({
  id: 'megatron-5240',
  family: 'H05',
  reports: [{ id: 'Megatron-LM#5240', url: 'https://github.com/NVIDIA/Megatron-LM/issues/5240' }],
  mechanism:
    'Unbatched point-to-point transfers create a communicator for two ranks on ' +
    'first use, which blocks the host until the peer comes. Where every rank of a ' +
    'ring turns to its next one first, all wait.',
  engine: 'Megatron-LM, PP with unbatched transfers',
  knobs: ['modload', 'order'],
  exhibits: [
    {
      when: 'before',
      name: 'everyone turns to the next rank first',
      violates: 'P1',
      scenario: () => engine('ring', false),
    },
    {
      when: 'after',
      name: 'the lower pair is created first',
      scenario: () => engine('pairs', true),
    },
  ],
})
