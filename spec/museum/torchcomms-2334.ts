// The axiom: loading a module waits for the kernels that run.

import { collective, launch, type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const reduce: Operation = collective('all-reduce', {
  communicator: 'group',
  stream: 'side',
  dtype: 'bfloat16',
  shape: [8],
})
const kernel: Operation = launch('kernel', { stream: 'main', loadsModule: true })
const engine = (name: string, moduleLoading: 'lazy' | 'eager', loadFirst = false): Scenario =>
  staged(
    peers(name, {
      summary: 'a collective, and a kernel that is used for the first time',
      first: [...(loadFirst ? [kernel, reduce] : [reduce, kernel]), rendezvous('ready', 'last')],
      last: [rendezvous('ready', 'first'), reduce],
    }),
    {
      device: { residentCollectives: 4, moduleLoading },
      workload: { choices: [{ firstUse: true }, {}] },
    },
  )

export const torchcomms2334 = defineCase({
  id: 'torchcomms-2334',
  family: 'C07',
  reports: [
    { id: 'torchcomms#2334', url: 'https://github.com/meta-pytorch/torchcomms/pull/2334' },
    { id: 'nvbench#136', url: 'https://github.com/NVIDIA/nvbench/issues/136' },
  ],
  mechanism:
    'The first use of a kernel loads its module under the context lock and waits ' +
    'for running kernels. A collective that waits for its peer is one, and the ' +
    'peer needs this host to go on.',
  engine: 'any, CUDA with lazy module loading',
  knobs: ['modload'],
  exhibits: [
    {
      when: 'before',
      name: 'lazy loading beside a collective',
      violates: 'P1',
      scenario: () => engine('lazy', 'lazy'),
    },
    { when: 'after', name: 'eager module loading', scenario: () => engine('eager', 'eager') },
    {
      when: 'after',
      name: 'loaded before the collective, with a wait for the last one',
      scenario: () => engine('loaded-first', 'eager', true),
    },
  ],
})
