// Weights of experts are exchanged beside a cooperative kernel that needs the whole device.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const op = (communicator: string, stream: string): Operation =>
  collective(communicator, { communicator, stream, dtype: 'bfloat16', shape: [8] })
const engine = (name: string, stream: string | undefined): Scenario => {
  const work = [op('experts', 'main'), op('rebalance', stream ?? 'side')]
  return staged(
    peers(name, {
      summary: 'an exchange of expert weights beside the forward pass',
      communicators: { experts: { kind: 'group' }, rebalance: { kind: 'group' } },
      first: work,
      last: work,
    }),
    { device: { residentCollectives: 1 } },
  )
}

export const vllm32860 = defineCase({
  id: 'vllm-32860',
  family: 'H02',
  reports: [
    { id: 'vllm#32860', url: 'https://github.com/vllm-project/vllm/issues/32860' },
    { id: 'vllm#44978', url: 'https://github.com/vllm-project/vllm/issues/44978' },
  ],
  mechanism:
    'The asynchronous exchange of expert weights holds the multiprocessors of one ' +
    'rank while the cooperative kernel of the forward pass holds those of ' +
    'another; each waits for its counterpart.',
  engine: 'vLLM, expert parallel, asynchronous rebalancing',
  knobs: ['xcomm'],
  exhibits: [
    {
      when: 'before',
      name: 'beside the forward pass',
      violates: 'P1',
      scenario: () => engine('side-stream', undefined),
    },
    {
      when: 'after',
      name: 'serialised with the forward pass',
      scenario: () => engine('serialised', 'main'),
    },
  ],
})
