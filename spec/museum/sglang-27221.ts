// Each rank's own clock decides what has timed out.

import { collective } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, own: boolean): Scenario => {
  const reduce = collective('all-reduce', {
    communicator: 'group',
    stream: 'main',
    dtype: 'bfloat16',
    shape: ['R', 8],
  })
  return staged(
    peers(name, {
      summary: 'an all-reduce of the rows of the batch',
      first: [reduce],
      last: [reduce],
    }),
    own ? { faults: [{ kind: 'own-num-reqs' }] } : {},
  )
}

export const sglang27221 = defineCase({
  id: 'sglang-27221',
  family: 'D06',
  reports: [{ id: 'sglang#27221', url: 'https://github.com/sgl-project/sglang/issues/27221' }],
  mechanism:
    'Requests are dropped by a time-out that each rank measures with its own ' +
    'clock. One rank drops a request, another keeps it, and their batches differ ' +
    'in size.',
  engine: 'SGLang, TP under overload',
  knobs: ['clock'],
  exhibits: [
    {
      when: 'before',
      name: 'decided by own clocks',
      violates: 'P2',
      scenario: () => engine('own-clock', true),
    },
    {
      when: 'after',
      name: 'one rank decides and tells',
      scenario: () => engine('one-clock', false),
    },
  ],
})
