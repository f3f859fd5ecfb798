// A paused engine stops stepping while the others still count on it.

import { collective, done, hostWait, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const work: Operation = collective('experts', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const agree: Operation = collective('agree', {
  communicator: 'dp',
  stream: 'cpu',
  dtype: 'int32',
  shape: [1],
})
const engine = (name: string, paused: boolean): Scenario => {
  const list = [agree, hostWait(done('agree')), work]
  return staged(
    peers(name, {
      summary: 'data-parallel engines agree before each step',
      communicators: { dp: { kind: 'group' } },
      first: list,
      last: list,
    }),
    paused ? { faults: [{ kind: 'lost-rpc', rank: 0 }], workload: { steps: 3 } } : {},
  )
}

export const vllm39366 = defineCase({
  id: 'vllm-39366',
  family: 'D05',
  reports: [{ id: 'vllm#39366', url: 'https://github.com/vllm-project/vllm/pull/39366' }],
  mechanism:
    'A paused data-parallel engine stops stepping while the others still expect ' +
    'it in the consensus and in the expert collectives. The mended engines add a ' +
    'pending flag to the consensus and stop together.',
  engine: 'vLLM, data parallel, pause',
  knobs: ['shut'],
  inferred: 'A pause is modelled as a step that one engine does not take part in.',
  exhibits: [
    {
      when: 'before',
      name: 'one engine pauses alone',
      violates: 'P1',
      scenario: () => engine('pauses-alone', true),
    },
    {
      when: 'after',
      name: 'all stop after the same step',
      scenario: () => engine('stop-together', false),
    },
  ],
})
