// Work objects are thrown away, and with them the buffers that the transfer still uses.

import { done, hostWait, type Operation, receive, release, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const form = { communicator: 'pair', stream: 'cpu', dtype: 'int64', shape: [8] } as const
const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'batched transfers over Gloo',
      communicators: { pair: { kind: 'pair' } },
      first: [
        receive('batch', { ...form, peer: 'last', writes: ['target'] }),
        ...waits,
        release('target'),
      ],
      last: [send('batch', { ...form, peer: 'first' })],
    }),
  )

export const pytorch152938 = defineCase({
  id: 'pytorch-152938',
  family: 'J04',
  reports: [
    { id: 'pytorch#152938', url: 'https://github.com/pytorch/pytorch/issues/152938' },
    { id: 'gloo#456', url: 'https://github.com/facebookincubator/gloo/issues/456' },
  ],
  mechanism:
    'Batched transfers discard their work objects, so nobody sees them end and ' +
    'their buffers are handed back while the transfer is under way.',
  engine: 'PyTorch, Gloo',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'before',
      name: 'released under way',
      violates: 'P9',
      scenario: () => engine('discarded', []),
    },
    {
      when: 'after',
      name: 'kept until the work is done',
      scenario: () => engine('kept', [hostWait(done('batch'))]),
    },
  ],
})
