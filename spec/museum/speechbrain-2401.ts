// The main process skips a broadcast by a condition of its own.

import { broadcast, done, hostWait, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const share: Operation = broadcast('object', {
  communicator: 'group',
  stream: 'cpu',
  root: 'first',
  dtype: 'int64',
  shape: [4],
})
const engine = (name: string, first: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'the main process shares an object',
      first,
      last: [share, hostWait(done('object'))],
    }),
    { workload: { choices: [{}, { mask: 'empty' }] } },
  )

export const speechbrain2401 = defineCase({
  id: 'speechbrain-2401',
  family: 'J03',
  reports: [
    { id: 'speechbrain#2401', url: 'https://github.com/speechbrain/speechbrain/issues/2401' },
  ],
  mechanism:
    'The main process broadcasts an object only under a condition that it alone ' +
    'evaluates; the other processes always wait for it.',
  engine: 'SpeechBrain, data parallel',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'skipped by the main process',
      violates: 'P1',
      scenario: () => engine('skipped', [when(['mask'], share)]),
    },
    { when: 'after', name: 'broadcast in any case', scenario: () => engine('shared', [share]) },
  ],
})
