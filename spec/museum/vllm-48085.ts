// One pinned buffer of ids, and more than one step in flight.

import { done, hostWait, launch, type Operation, pend, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, forward, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'ids are written to pinned memory and copied asynchronously',
      computes: [
        ...waits,
        launch('write-ids', { stream: 'writer', writes: ['ids'] }),
        streamWait('copy', done('write-ids')),
        launch('copy-ids', { stream: 'copy', reads: ['ids'] }),
        streamWait('main', done('copy-ids')),
        forward,
      ],
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
  )

export const vllm48085 = defineCase({
  id: 'vllm-48085',
  family: 'F01',
  reports: [
    { id: 'vllm#48085', url: 'https://github.com/vllm-project/vllm/pull/48085' },
    { id: 'vllm#47644', url: 'https://github.com/vllm-project/vllm/issues/47644' },
  ],
  mechanism:
    'The host writes ids into one pinned buffer and starts an asynchronous copy. ' +
    'With more than one step in flight, the next step overwrites the ids before ' +
    'the copy has read them.',
  engine: 'vLLM, PP, batch queue',
  knobs: ['buf', 'window'],
  inferred:
    'Writing by the host is modelled as work on a stream of its own; the fix ' +
    'rotates buffers, and waiting for the copy does the same.',
  exhibits: [
    {
      when: 'before',
      name: 'one buffer, nobody waits',
      violates: 'P9',
      scenario: () => engine('one-buffer', []),
    },
    {
      when: 'after',
      name: 'written when the copy has read it',
      scenario: () => engine('copy-waited', [hostWait(done('copy-ids', 1))]),
    },
  ],
})
