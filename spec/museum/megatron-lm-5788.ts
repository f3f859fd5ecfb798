// A claim that was taken back: the order that seemed to be missing came from an outer wait.

import { collective, done, launch, type Operation, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario => {
  const work = [
    ...waits,
    launch('fill', { stream: 'side', writes: ['gradients'] }),
    streamWait('main', done('fill')),
    collective('reduce', {
      communicator: 'group',
      stream: 'main',
      dtype: 'bfloat16',
      shape: [8],
      reads: ['gradients'],
    }),
  ]
  return staged(
    peers(name, {
      summary: 'gradients are filled on a side stream and reduced on the main one',
      first: work,
      last: work,
    }),
  )
}

export const megatronLm5788 = defineCase({
  id: 'megatron-lm-5788',
  family: 'part B',
  reports: [{ id: 'Megatron-LM#5788', url: 'https://github.com/NVIDIA/Megatron-LM/issues/5788' }],
  mechanism:
    'A use after free was claimed and retracted: the side stream waits for the ' +
    'main stream elsewhere, so the buffer is not written before the reduction has ' +
    'read it.',
  engine: 'Megatron-LM, overlapped gradient reduction',
  knobs: ['buf'],
  exhibits: [
    {
      when: 'control',
      name: 'with the outer wait, as it is',
      scenario: () => engine('outer-wait', [streamWait('side', done('reduce', 1))]),
    },
    {
      when: 'control',
      name: 'mutant: as the claim read it, without the wait',
      violates: 'P9',
      scenario: () => engine('no-outer-wait', []),
    },
  ],
})
