// Staged at sampling, sent after proposing: an exception in between leaves the receivers alone.

import { broadcast, checkHeader, done, launch, pend, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const packed = sampled({ shape: ['R', 13] })
const engine = (name: string, header: boolean, throws = true): Scenario => {
  const head = broadcast('header', {
    communicator: 'token',
    stream: 'broadcast',
    root: 'last',
    dtype: 'int64',
    shape: [3],
    header: { fields: ['seq', 'mask_hash', 'num_reqs'], sequence: 'before-enqueue' },
  })
  return staged(
    pipeline(name, {
      summary: 'one packed row a request, sent after the proposal',
      receives: [afterForward, ...(header ? [head, checkHeader('header')] : []), packed, pend()],
      sends: [
        launch('draft', { stream: 'main' }),
        streamWait('broadcast', done('draft')),
        ...(header ? [head] : []),
        packed,
      ],
    }),
    throws ? { faults: [{ kind: 'throw', rank: 1, step: 1 }], workload: { steps: 5 } } : {},
  )
}

export const vllm47686 = defineCase({
  id: 'vllm-47686',
  family: 'A20',
  reports: [{ id: 'vllm#47686', url: 'https://github.com/vllm-project/vllm/pull/47686' }],
  mechanism:
    'Three payloads became one row that is staged when tokens are sampled and ' +
    'sent after the proposal. An exception in the proposal leaves the row unsent ' +
    'while every receiver has posted its receive.',
  engine: 'vLLM V2 runner, PP, speculative decoding',
  knobs: ['ops', 'exc'],
  inferred: 'That the exception is swallowed and the engine goes on.',
  exhibits: [
    {
      when: 'before',
      name: 'the proposal throws, the row stays',
      violates: 'P4',
      scenario: () => engine('packed', false),
    },
    {
      when: 'control',
      name: 'a sequence number counts calls, and does not see it either',
      violates: 'P4',
      scenario: () => engine('packed-header', true),
    },
    {
      when: 'after',
      name: 'the proposal cannot leave before the send',
      scenario: () => engine('packed-transactional', false, false),
    },
  ],
})
