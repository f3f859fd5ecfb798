// A failed receive is swallowed, and every later message is taken for the one before.

import { receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, lost: boolean): Scenario => {
  const form = { communicator: 'channel', stream: 'cpu', dtype: 'int64', shape: ['R'] } as const
  return staged(
    peers(name, {
      summary: 'a channel between two workers over Gloo',
      communicators: { channel: { kind: 'pair' } },
      first: [send('message', { ...form, peer: 'last' })],
      last: [receive('message', { ...form, peer: 'first' })],
    }),
    lost ? { faults: [{ kind: 'throw', rank: 1, step: 0 }], workload: { steps: 3 } } : {},
  )
}

export const rlinf1378 = defineCase({
  id: 'rlinf-1378',
  family: 'I08',
  reports: [{ id: 'RLinf#1378', url: 'https://github.com/RLinf/RLinf/issues/1378' }],
  mechanism:
    'A failure of the transport is swallowed inside a channel. The next message ' +
    'is taken for the one that was lost, and the two ends stay off by one for ' +
    'ever.',
  engine: 'RLinf, Gloo channel',
  knobs: ['exc', 'slot'],
  exhibits: [
    {
      when: 'before',
      name: 'off by one',
      violates: 'P2',
      scenario: () => engine('swallowed', true),
    },
    { when: 'after', name: 'the failure ends the channel', scenario: () => engine('ended', false) },
  ],
})
