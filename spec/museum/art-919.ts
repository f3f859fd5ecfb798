// The index in a group is taken for the rank in the world.

import { broadcast, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const share = (root: 'first' | 'last'): Operation =>
  broadcast('object', { communicator: 'group', stream: 'cpu', root, dtype: 'int64', shape: [4] })
const engine = (name: string, root: 'first' | 'last'): Scenario =>
  staged(
    peers(name, {
      summary: 'a broadcast from the first member of a group',
      first: [share('first')],
      last: [share(root)],
    }),
  )

export const art919 = defineCase({
  id: 'art-919',
  family: 'J06',
  reports: [
    { id: 'ART#919', url: 'https://github.com/OpenPipe/ART/issues/919' },
    { id: 'torchrec#4601', url: 'https://github.com/meta-pytorch/torchrec/pull/4601' },
  ],
  mechanism:
    'A source rank is given as an index in the group where the library expects a ' +
    'rank of the world. It works until a group does not start at rank 0; then ' +
    'code paths name different roots.',
  engine: 'any, c10d groups',
  knobs: ['root'],
  exhibits: [
    {
      when: 'before',
      name: 'two roots',
      violates: 'P2',
      scenario: () => engine('two-roots', 'last'),
    },
    { when: 'after', name: 'one root', scenario: () => engine('one-root', 'first') },
  ],
})
