// A world collective in a branch of the last stage.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const reduce: Operation = collective('log-reduce', {
  communicator: 'group',
  stream: 'main',
  dtype: 'int64',
  shape: [1],
})
const engine = (name: string, others: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'a reduction of the loss over all ranks',
      first: others,
      last: [reduce],
    }),
    { pp: 3 },
  )

export const slime393 = defineCase({
  id: 'slime-393',
  family: 'H08',
  reports: [{ id: 'slime#393', url: 'https://github.com/THUDM/slime/issues/393' }],
  mechanism:
    'An all-reduce over the world group stands in code that only the last ' +
    'pipeline stage runs. The other stages never come to it.',
  engine: 'slime, PP training',
  knobs: ['skip', 'root'],
  exhibits: [
    {
      when: 'before',
      name: 'only on the last stage',
      violates: 'P10',
      scenario: () => engine('last-only', []),
    },
    { when: 'after', name: 'on every stage', scenario: () => engine('everyone', [reduce]) },
  ],
})
