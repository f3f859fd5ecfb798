// Fewer micro-batches than stages: the warm-up sends more than there is to receive.

import { type Operation, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const form = { communicator: 'pair', dtype: 'bfloat16', shape: [8], stream: 'main' } as const
const out = (name: string): Operation => send(name, { ...form, peer: 'last' })
const engine = (name: string, first: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'the warm-up phase of a pipeline schedule',
      communicators: { pair: { kind: 'pair' } },
      first,
      last: [receive('batch-0', { ...form, peer: 'first' })],
    }),
    { workload: { steps: 1 } },
  )

export const torchtitan775 = defineCase({
  id: 'torchtitan-775',
  family: 'H07',
  reports: [{ id: 'torchtitan#775', url: 'https://github.com/pytorch/torchtitan/issues/775' }],
  mechanism:
    'With fewer micro-batches than stages the warm-up loop issues more sends than ' +
    'there are receives, and the surplus is never matched.',
  engine: 'torchtitan, PP training',
  knobs: ['ops'],
  exhibits: [
    {
      when: 'before',
      name: 'one send too many',
      violates: 'P10',
      scenario: () => engine('surplus', [out('batch-0'), out('batch-1')]),
    },
    {
      when: 'after',
      name: 'as many as there are micro-batches',
      scenario: () => engine('equal-count', [out('batch-0')]),
    },
  ],
})
