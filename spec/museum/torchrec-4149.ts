// A host wait in one of two pipelines makes the order of issue depend on the rank.

import { collective, done, hostWait, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const op = (communicator: string): Operation =>
  collective(communicator, { communicator, stream: 'main', dtype: 'bfloat16', shape: [8] })
const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'two process groups of one pipeline',
      communicators: { data: { kind: 'group' }, model: { kind: 'group' } },
      first: [op('data'), hostWait(done('data')), op('model')],
      last,
    }),
  )

export const torchrec4149 = defineCase({
  id: 'torchrec-4149',
  family: 'H03',
  reports: [{ id: 'torchrec#4149', url: 'https://github.com/meta-pytorch/torchrec/pull/4149' }],
  mechanism:
    'Two stages of a training pipeline use two process groups from different ' +
    'threads. A host wait in one of them decides who issues first, and ranks ' +
    'decide differently.',
  engine: 'torchrec, pipelined training',
  knobs: ['xcomm', 'hostblk'],
  exhibits: [
    {
      when: 'before',
      name: 'issued the other way round on one rank',
      violates: 'P1',
      scenario: () => engine('rank-order', [op('model'), hostWait(done('model')), op('data')]),
    },
    {
      when: 'after',
      name: 'one fixed order of issue',
      scenario: () => engine('fixed-order', [op('data'), hostWait(done('data')), op('model')]),
    },
  ],
})
