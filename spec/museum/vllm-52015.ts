// A mask that reads state which one rank rolls back; and a source that is overwritten while it
// is sent.

import { done, launch, pend, streamWait, when } from '../operation.ts'
import { fieldScenario } from '../protocols/index.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const gate = ['mask'] as const
const gatedTokens = when(gate, sampled())
const gated = (name: string, faulty: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'both sides send and receive by their own mask',
      receives: [afterForward, gatedTokens, when(gate, pend())],
      sends: [afterSample, gatedTokens],
    }),
    {
      workload: { choices: [{}, { mask: 'empty' }] },
      ...(faulty ? { faults: [{ kind: 'own-mask' as const }] } : {}),
    },
  )
const source = (name: string, snapshot: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'the sampler writes the buffer that the side stream sends',
      receives: [afterForward, sampled(), pend()],
      sends: [
        ...(snapshot ? [streamWait('main', done('sampled', 1))] : []),
        launch('roll-back', { stream: 'main', writes: ['tokens'] }),
        streamWait('broadcast', done('roll-back')),
        sampled({ reads: ['tokens'] }),
      ],
    }),
  )

export const vllm52015 = defineCase({
  id: 'vllm-52015',
  family: 'A07',
  reports: [{ id: 'vllm#52015', url: 'https://github.com/vllm-project/vllm/pull/52015' }],
  mechanism:
    'The model rolls the computed count back on the rank that owns the sampler, ' +
    'and the mask reads that count, so ranks gate differently. The source of the ' +
    'send is also overwritten in place while the side stream still reads it.',
  engine: 'vLLM V2 runner, PP, hybrid model',
  knobs: ['mask', 'skip', 'buf'],
  exhibits: [
    {
      when: 'before',
      name: 'masks differ on one rank',
      violates: 'P4',
      scenario: () => gated('mask-rolled-back', true),
    },
    {
      when: 'after',
      name: 'mask of fields that all ranks share',
      scenario: () => gated('mask-shared', false),
    },
    {
      when: 'after',
      name: 'a rank still differs, and a header tells',
      scenario: () =>
        fieldScenario('stabilized', { pp: 2, drafts: 0, faults: [{ kind: 'own-mask' }] }),
    },
    {
      when: 'before',
      name: 'source overwritten in place',
      violates: 'P9',
      scenario: () => source('source-in-place', false),
    },
    {
      when: 'after',
      name: 'overwritten only when the send has read it',
      scenario: () => source('source-ordered', true),
    },
  ],
})
