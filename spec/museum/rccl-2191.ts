// Starting collectives in launch order rescues two communicators; it does not rescue a host that
// launches them in another order.

import { collective } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const names = ['one', 'two', 'three'] as const
const engine = (
  name: string,
  count: number,
  launchOrder: 'free' | 'host-program',
  crossed = false,
): Scenario => {
  const ops = names.slice(0, count).map((communicator) =>
    collective(communicator, {
      communicator,
      stream: communicator,
      dtype: 'bfloat16' as const,
      shape: [8],
    }),
  )
  return staged(
    peers(name, {
      summary: 'communicators side by side, each on a stream of its own',
      communicators: { one: { kind: 'group' }, two: { kind: 'group' }, three: { kind: 'group' } },
      first: ops,
      last: crossed ? [...ops].reverse() : ops,
    }),
    { device: { residentCollectives: 1, launchOrder } },
  )
}

export const rccl2191 = defineCase({
  id: 'rccl-2191',
  family: 'part B',
  reports: [{ id: 'rccl#2191', url: 'https://github.com/ROCm/rccl/issues/2191' }],
  mechanism:
    'Communicators used side by side deadlock where the device has room for fewer ' +
    'of them. Starting them in the order of launch rescued two of them and not ' +
    'three, in the report.',
  engine: 'any, RCCL, several communicators',
  knobs: ['xcomm'],
  inferred:
    'That three communicators were launched in different orders; in one order the ' +
    'model holds with any number.',
  exhibits: [
    {
      when: 'before',
      name: 'two, free order',
      violates: 'P1',
      scenario: () => engine('two-free', 2, 'free'),
    },
    {
      when: 'after',
      name: 'two, in launch order',
      scenario: () => engine('two-ordered', 2, 'host-program'),
    },
    {
      when: 'after',
      name: 'three, in launch order, launched alike',
      scenario: () => engine('three-ordered', 3, 'host-program'),
    },
    {
      when: 'control',
      name: 'three, in launch order, launched in another order on one rank',
      violates: 'P1',
      scenario: () => engine('three-crossed', 3, 'host-program', true),
    },
  ],
})
