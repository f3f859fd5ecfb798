// A stream wait that did nothing on one backend.

import { done, hostWait, launch, type Operation, pend, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, ordered: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the sampler writes the tokens that a side stream sends',
      receives: [afterForward, sampled(), pend()],
      sends: [
        ...ordered,
        sampled({ reads: ['tokens'] }),
        streamWait('main', done('sampled')),
        launch('next-tokens', { stream: 'main', writes: ['tokens'] }),
      ],
    }),
  )
const racing = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the buffer of one step is the source of the next',
      receives: [afterForward, sampled(), pend()],
      sends: [
        sampled({ reads: ['tokens'] }),
        ...waits,
        launch('next-tokens', { stream: 'main', writes: ['tokens'] }),
      ],
    }),
  )

export const vllm47253 = defineCase({
  id: 'vllm-47253',
  family: 'A15',
  reports: [{ id: 'vllm#47253', url: 'https://github.com/vllm-project/vllm/pull/47253' }],
  mechanism:
    'On one backend the wait between the sampler stream and the side stream had ' +
    'no effect, so a send and the writes of the sampler ran unordered on the same ' +
    'tokens.',
  engine: 'vLLM V2 runner on XPU, PP',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'before',
      name: 'no order between the streams',
      violates: 'P9',
      scenario: () => racing('unordered', []),
    },
    {
      when: 'after',
      name: 'the host waits before it goes on',
      scenario: () => racing('host-waited', [hostWait(done('sampled'))]),
    },
    {
      when: 'after',
      name: 'streams wait for each other',
      scenario: () => engine('stream-ordered', [hostWait(done('sample'))]),
    },
  ],
})
