// The axiom of two communicators: another order on another rank, and no room for both.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const op = (communicator: string, stream: string): Operation =>
  collective(communicator, { communicator, stream, dtype: 'bfloat16', shape: [8] })
const engine = (name: string, { stream = '', crossed = true, places = 1 }): Scenario => {
  const one = op('one', stream || 'stream-1')
  const two = op('two', stream || 'stream-2')
  return staged(
    peers(name, {
      summary: 'two communicators over the same devices',
      communicators: { one: { kind: 'group' }, two: { kind: 'group' } },
      first: [one, two],
      last: crossed ? [two, one] : [one, two],
    }),
    { device: { residentCollectives: places } },
  )
}

export const nccl195 = defineCase({
  id: 'nccl-195',
  family: 'H01',
  reports: [
    { id: 'nccl#195', url: 'https://github.com/NVIDIA/nccl/issues/195' },
    { id: 'nccl#522', url: 'https://github.com/NVIDIA/nccl/issues/522' },
  ],
  mechanism:
    'One rank launches the collective of one communicator first, another rank ' +
    'that of the other. If the devices have no room for both kernels, each waits ' +
    'for the one that cannot start.',
  engine: 'any, NCCL, two communicators',
  knobs: ['xcomm', 'order'],
  exhibits: [
    {
      when: 'before',
      name: 'crossed, room for one',
      violates: 'P1',
      scenario: () => engine('crossed', {}),
    },
    {
      when: 'control',
      name: 'crossed, room for one, on one stream',
      violates: 'P1',
      scenario: () => engine('crossed-one-stream', { stream: 'main', places: 4 }),
    },
    {
      when: 'after',
      name: 'the same order everywhere, in one stream',
      scenario: () => engine('ordered', { stream: 'main', crossed: false }),
    },
    {
      when: 'control',
      name: 'crossed with room for both',
      scenario: () => engine('room', { places: 4 }),
    },
  ],
})
