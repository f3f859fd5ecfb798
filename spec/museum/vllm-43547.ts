// A rank without tokens returns early and leaves the others in the expert exchange.

import { collective, done, hostWait, type Operation, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const coordinate: Operation = collective('dp-coordination', {
  communicator: 'dp',
  stream: 'cpu',
  dtype: 'int32',
  shape: [2],
})
const scatter: Operation = collective('reduce-scatter', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const engine = (name: string, early: boolean): Scenario => {
  const guard = early ? (['mask'] as const) : []
  const work = [
    when(guard, coordinate),
    when(guard, hostWait(done('dp-coordination'))),
    when(guard, scatter),
  ]
  return staged(
    peers(name, {
      summary: 'every step coordinates over data-parallel ranks',
      communicators: { dp: { kind: 'group' } },
      first: work,
      last: work,
    }),
    { faults: [{ kind: 'own-mask' }], workload: { choices: [{}] } },
  )
}

export const vllm43547 = defineCase({
  id: 'vllm-43547',
  family: 'D01',
  reports: [
    { id: 'vllm#43547', url: 'https://github.com/vllm-project/vllm/issues/43547' },
    { id: 'vllm#51984', url: 'https://github.com/vllm-project/vllm/issues/51984' },
  ],
  mechanism:
    'A data-parallel rank with no tokens returns before the coordination, so the ' +
    'sequences of ranks drift by one operation for each such step.',
  engine: 'vLLM, data parallel, mixture of experts',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'returns early without tokens',
      violates: 'P2',
      scenario: () => engine('early-return', true),
    },
    {
      when: 'before',
      name: 'the last such step leaves the others waiting',
      violates: 'P1',
      scenario: () => engine('early-return-idle', true),
    },
    {
      when: 'after',
      name: 'a dummy run without tokens',
      scenario: () => engine('dummy-run', false),
    },
  ],
})
