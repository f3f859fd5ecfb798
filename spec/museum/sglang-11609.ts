// Flags of one reduction lie where the next one, of another size, keeps its data.

import { collective, done, launch, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, regions: readonly [string, string]): Scenario => {
  const one = collective('small', {
    communicator: 'group',
    stream: 'main',
    dtype: 'bfloat16',
    shape: [8],
    reads: [regions[0]],
  })
  const work = [
    launch('flags', { stream: 'main', writes: [regions[0]] }),
    one,
    launch('data', { stream: 'side', writes: [regions[1]] }),
  ]
  const order = regions[0] === regions[1] ? [] : [streamWait('main', done('small', 1))]
  return staged(
    peers(name, {
      summary: 'consecutive reductions of different sizes in one buffer',
      first: [...order, ...work],
      last: [...order, ...work],
    }),
  )
}

export const sglang11609 = defineCase({
  id: 'sglang-11609',
  family: 'H12',
  reports: [{ id: 'sglang#11609', url: 'https://github.com/sgl-project/sglang/pull/11609' }],
  mechanism:
    'The flags of an all-reduce lie in a buffer whose layout depends on the size, ' +
    'so a following one of another size overwrites flags that are still read.',
  engine: 'SGLang, TP, custom all-reduce',
  knobs: ['width', 'buf'],
  exhibits: [
    {
      when: 'before',
      name: 'flags and data overlap',
      violates: 'P9',
      scenario: () => engine('overlap', ['buffer', 'buffer']),
    },
    {
      when: 'after',
      name: 'regions of their own',
      scenario: () => engine('regions', ['flag-region', 'data-region']),
    },
  ],
})
