// Two stages with interleaved micro-batches: both send before they receive.

import { type Operation, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const form = { communicator: 'pair', dtype: 'bfloat16', shape: [8], stream: 'main' } as const
const engine = (name: string, first: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'two chunks of a model on two ranks',
      communicators: { pair: { kind: 'pair' } },
      first,
      last: [send('f0', { ...form, peer: 'first' }), receive('f1', { ...form, peer: 'first' })],
    }),
  )

export const pytorch172668 = defineCase({
  id: 'pytorch-172668',
  family: 'H06',
  reports: [
    { id: 'pytorch#172668', url: 'https://github.com/pytorch/pytorch/issues/172668' },
    { id: 'pytorch#178815', url: 'https://github.com/pytorch/pytorch/issues/178815' },
  ],
  mechanism:
    'In an interleaved schedule each of two ranks sends the output of one ' +
    'micro-batch before it receives that of another; without buffering, neither ' +
    'send can end.',
  engine: 'PyTorch pipelining, interleaved schedule',
  knobs: ['order'],
  exhibits: [
    {
      when: 'before',
      name: 'both send first',
      violates: 'P1',
      scenario: () =>
        engine('send-first', [
          send('f1', { ...form, peer: 'last' }),
          receive('f0', { ...form, peer: 'last' }),
        ]),
    },
    {
      when: 'after',
      name: 'the lower rank receives first',
      scenario: () =>
        engine('receive-first', [
          receive('f0', { ...form, peer: 'last' }),
          send('f1', { ...form, peer: 'last' }),
        ]),
    },
  ],
})
