// The host reads what a copy has not brought yet.

import { done, hostWait, launch, type Operation, release } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const copy: Operation = launch('copy-back', { stream: 'copy', writes: ['host-counts'] })
const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'counts come back by an asynchronous copy',
      first: [copy, ...waits, release('host-counts')],
      last: [copy, ...waits, release('host-counts')],
    }),
  )

export const vllm36013 = defineCase({
  id: 'vllm-36013',
  family: 'F06',
  reports: [{ id: 'vllm#36013', url: 'https://github.com/vllm-project/vllm/issues/36013' }],
  mechanism:
    'A device-to-host copy is started without an event, and the host takes the ' +
    'buffer while it is still being written: it sees old values.',
  engine: 'vLLM, async scheduling',
  knobs: ['buf'],
  inferred: 'Taking the values is modelled as taking the buffer over.',
  exhibits: [
    { when: 'before', name: 'no event', violates: 'P9', scenario: () => engine('no-event', []) },
    {
      when: 'after',
      name: 'an event is waited for',
      scenario: () => engine('event', [hostWait(done('copy-back'))]),
    },
  ],
})
