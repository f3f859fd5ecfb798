// A decision of one rank before a collective, and the other rank is already elsewhere.

import { broadcast, collective, done, hostWait, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const gather: Operation = collective('logits-gather', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const requests: Operation = broadcast('requests', {
  communicator: 'control',
  root: 'first',
  stream: 'cpu',
  dtype: 'int64',
  shape: [4],
})
const engine = (name: string, own: boolean): Scenario => {
  const work = [
    requests,
    hostWait(done('requests')),
    when(own ? ['mask'] : [], gather),
    when(own ? ['mask'] : [], hostWait(done('logits-gather'))),
  ]
  return staged(
    peers(name, {
      summary: 'requests by control broadcast, logits gathered on devices',
      communicators: { control: { kind: 'group' } },
      first: work,
      last: work,
    }),
    own ? { faults: [{ kind: 'own-mask' }] } : {},
  )
}

export const sglang33289 = defineCase({
  id: 'sglang-33289',
  family: 'C04',
  reports: [
    { id: 'sglang#33289', url: 'https://github.com/sgl-project/sglang/issues/33289' },
    { id: 'sglang#33614', url: 'https://github.com/sgl-project/sglang/issues/33614' },
  ],
  mechanism:
    'One rank stands in the gather of the logits, the other is back at the ' +
    'broadcast of new requests: a decision of its own came before the gather. ' +
    'Each waits on another communicator.',
  engine: 'SGLang, TP over two nodes, DSpark',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'the gather hangs on an own decision',
      violates: 'P1',
      scenario: () => engine('own-decision', true),
    },
    {
      when: 'after',
      name: 'the gather in every step',
      scenario: () => engine('every-step', false),
    },
  ],
})
