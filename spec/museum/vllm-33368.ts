// Sends became asynchronous, and the buffer that they read is written in every step.

import { done, launch, type Operation, pend, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import {
  adopt,
  afterForward,
  afterSample,
  pipeline,
  sampled,
  sendActivation,
  staged,
} from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the forward pass writes a static buffer; a send reads it',
      consumes: [...waits, adopt()],
      computes: [launch('forward', { stream: 'main', writes: ['hidden'] })],
      hands: sendActivation({ reads: ['hidden'] }),
      receives: [afterForward, sampled(), pend()],
      sends: [afterSample, sampled()],
    }),
  )

export const vllm33368 = defineCase({
  id: 'vllm-33368',
  family: 'A32',
  reports: [{ id: 'vllm#33368', url: 'https://github.com/vllm-project/vllm/pull/33368' }],
  mechanism:
    'Activations leave by an asynchronous send whose source is a static graph ' +
    'buffer. Without waiting for the previous send, the next forward pass writes ' +
    'it while it is still read.',
  engine: 'vLLM, PP with CUDA graphs',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'before',
      name: 'the previous send is not waited for',
      violates: 'P9',
      scenario: () => engine('send-not-waited', []),
    },
    {
      when: 'after',
      name: 'the previous send is waited for',
      scenario: () => engine('send-waited', [streamWait('main', done('send-activation', 1))]),
    },
  ],
})
