// An abort flag that each rank sees at its own next call.

import { collective, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, guard: readonly 'mask'[]): Scenario => {
  const work = [
    when(
      guard,
      collective('decode', {
        communicator: 'group',
        stream: 'main',
        dtype: 'bfloat16',
        shape: [8],
      }),
    ),
  ]
  return staged(
    peers(name, { summary: 'a generation loop with a collective a turn', first: work, last: work }),
    { workload: { steps: 3 }, faults: [{ kind: 'own-mask', step: 2 }] },
  )
}

export const exllamav3302 = defineCase({
  id: 'exllamav3-302',
  family: 'G06',
  reports: [{ id: 'exllamav3#302', url: 'https://github.com/turboderp-org/exllamav3/issues/302' }],
  mechanism:
    'The abort flag is looked at when a rank makes its next call, so ranks leave ' +
    'the loop at different turns and one of them enters a collective that the ' +
    'other does not.',
  engine: 'exllamav3, TP',
  knobs: ['shut'],
  exhibits: [
    {
      when: 'before',
      name: 'one rank leaves a turn earlier',
      violates: 'P10',
      scenario: () => engine('own-flag', ['mask']),
    },
    {
      when: 'after',
      name: 'all leave after the same turn',
      scenario: () => engine('same-turn', []),
    },
  ],
})
