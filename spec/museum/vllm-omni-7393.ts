// A rebase brought the receive and left the send behind.

import { type Operation, pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const onMain = sampled({ stream: 'main' })
const engine = (name: string, sends: readonly Operation[]): Scenario =>
  staged(
    pipeline(name, {
      summary: 'one token broadcast a step on the main stream',
      receives: [onMain, pend()],
      sends,
    }),
    { pp: 3 },
  )

export const vllmOmni7393 = defineCase({
  id: 'vllm-omni-7393',
  family: 'A10',
  reports: [
    { id: 'vllm-omni#7393', url: 'https://github.com/vllm-project/vllm-omni/pull/7393' },
    { id: 'vllm-omni#7660', url: 'https://github.com/vllm-project/vllm-omni/pull/7660' },
  ],
  mechanism:
    'A rebase took over the token receive of the earlier ranks and lost the ' +
    'guarded send of the last one. The first decode waits for ever and the engine ' +
    'ends by its RPC time-out.',
  engine: 'vllm-omni, PP, V2 runner',
  knobs: ['skip'],
  exhibits: [
    { when: 'before', name: 'no sender', violates: 'P1', scenario: () => engine('no-sender', []) },
    { when: 'after', name: 'sender restored', scenario: () => engine('sender', [onMain]) },
  ],
})
