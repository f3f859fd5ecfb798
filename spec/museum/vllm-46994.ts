// A payload whose width follows what the root happened to do.

import { type Operation, pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const wide = sampled({ shape: ['R', 'K+1'] })
const natural = [when(['proposal'], wide), when(['no-proposal'], sampled())]
const engine = (name: string, sends: readonly Operation[], batches = true): Scenario =>
  staged(
    pipeline(name, {
      summary: 'tokens as [R, K+1]; the root sends what it sampled',
      receives: [afterForward, wide, pend()],
      sends: [afterSample, ...sends],
    }),
    { workload: { choices: batches ? [{}, { proposal: false }] : [{}] } },
  )

export const vllm46994 = defineCase({
  id: 'vllm-46994',
  family: 'A03',
  reports: [{ id: 'vllm#46994', url: 'https://github.com/vllm-project/vllm/pull/46994' }],
  mechanism:
    'A step without scheduled drafts is sampled by the plain sampler, so the root ' +
    'broadcasts one column where every receiver posted k + 1. NCCL negotiates no ' +
    'count and the first such sample hangs.',
  engine: 'vLLM V2 runner, PP2 and PP4, MTP',
  knobs: ['width'],
  exhibits: [
    {
      when: 'before',
      name: 'natural width',
      violates: 'P2',
      scenario: () => engine('natural-width', natural),
    },
    { when: 'after', name: 'padded to k + 1', scenario: () => engine('padded-width', [wide]) },
  ],
})
