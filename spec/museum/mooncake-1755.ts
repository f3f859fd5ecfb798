// A kernel that a collective needs for its end is loaded while the collective's first part
// spins.

import { collective, launch, type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const go: Operation = collective('spin', {
  communicator: 'group',
  stream: 'side',
  dtype: 'int32',
  shape: [1],
})
const reduce: Operation = launch('reduce', { stream: 'main', loadsModule: true })
const engine = (name: string, preloaded: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'a spin kernel on one stream, the first reduce on another',
      first: [go, reduce, rendezvous('arrived', 'last')],
      last: [rendezvous('arrived', 'first'), go],
    }),
    {
      device: { residentCollectives: 4, moduleLoading: preloaded ? 'eager' : 'lazy' },
      workload: { choices: [{ firstUse: true }] },
    },
  )

export const mooncake1755 = defineCase({
  id: 'mooncake-1755',
  family: 'B15',
  reports: [{ id: 'Mooncake#1755', url: 'https://github.com/kvcache-ai/Mooncake/pull/1755' }],
  mechanism:
    'The first reduce kernel is loaded lazily while a spin kernel of the same ' +
    'collective is resident. The load waits for the device, the spin waits for ' +
    'what comes after the load.',
  engine: 'Mooncake collectives',
  knobs: ['modload'],
  inferred:
    'What ends the spin is modelled as a message of the same host, given after ' + 'the load.',
  exhibits: [
    { when: 'before', name: 'lazy loading', violates: 'P1', scenario: () => engine('lazy', false) },
    { when: 'after', name: 'kernels preloaded', scenario: () => engine('preloaded', true) },
  ],
})
