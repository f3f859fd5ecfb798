// A consensus that only those ranks enter which have something in transfer.

import { collective, done, hostWait, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const consensus: Operation = collective('consensus', {
  communicator: 'world',
  stream: 'cpu',
  dtype: 'int32',
  shape: [1],
})
const reduce: Operation = collective('all-reduce', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const engine = (name: string, own: boolean): Scenario => {
  const work = [
    own ? when(['mask'], consensus) : consensus,
    when(own ? ['mask'] : [], hostWait(done('consensus'))),
    reduce,
  ]
  return staged(
    peers(name, {
      summary: 'a world consensus before the work of a step',
      communicators: { world: { kind: 'group' } },
      first: work,
      last: work,
    }),
    own ? { faults: [{ kind: 'own-mask' }] } : {},
  )
}

export const trtllm15595 = defineCase({
  id: 'trtllm-15595',
  family: 'B09',
  reports: [{ id: 'TensorRT-LLM#15595', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/15595' }],
  mechanism:
    'A rank enters the consensus only if one of its own transfers is in progress. ' +
    'Another rank has none, goes on to the collectives of the model, and each ' +
    'waits for the other.',
  engine: 'TensorRT-LLM, TP and PP, KV transfer',
  knobs: ['sched', 'xcomm'],
  exhibits: [
    {
      when: 'before',
      name: 'entered by an own flag',
      violates: 'P1',
      scenario: () => engine('own-flag', true),
    },
    {
      when: 'after',
      name: 'the flag of rank 0 travels with the schedule',
      scenario: () => engine('shared-flag', false),
    },
  ],
})
