// One workspace for the reductions of two stages.

import { collective, done, launch, type Operation, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const reduce = (name: string, stream: string, waits: readonly Operation[]): Operation[] => [
  ...waits,
  launch(`fill-${name}`, { stream, writes: ['workspace'] }),
  collective(name, {
    communicator: name,
    stream,
    dtype: 'bfloat16',
    shape: [8],
    reads: ['workspace'],
  }),
]
const engine = (name: string, shared: boolean): Scenario => {
  const own = shared ? [] : [streamWait('stage-2', done('one'))]
  const back = shared ? [] : [streamWait('stage-1', done('two', 1))]
  const work = [...reduce('one', 'stage-1', back), ...reduce('two', 'stage-2', own)]
  return staged(
    peers(name, {
      summary: 'two pipeline stages reduce through one workspace',
      communicators: { one: { kind: 'group' }, two: { kind: 'group' } },
      first: work,
      last: work,
    }),
  )
}

export const trtllm3988 = defineCase({
  id: 'trtllm-3988',
  family: 'H11',
  reports: [{ id: 'TensorRT-LLM#3988', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/3988' }],
  mechanism:
    'The workspace of a custom all-reduce is shared by pipeline stages of one ' +
    'tensor rank, so that what one stage leaves there is taken by the other.',
  engine: 'TensorRT-LLM, TP and PP, custom all-reduce',
  knobs: ['buf'],
  inferred:
    'Two stages on one device are modelled as two streams; the fix of the report ' +
    'is a workspace for each, and ordering them does the same.',
  exhibits: [
    {
      when: 'before',
      name: 'written while the other stage reads',
      violates: 'P9',
      scenario: () => engine('shared-workspace', true),
    },
    {
      when: 'after',
      name: 'one after the other',
      scenario: () => engine('ordered-workspace', false),
    },
  ],
})
