// The next batch is prepared in buffers that the verify pass still reads.

import { done, launch, type Operation, streamWait } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, waits: readonly Operation[]): Scenario => {
  const work = [
    ...waits,
    launch('prepare', { stream: 'schedule', writes: ['inputs'] }),
    streamWait('main', done('prepare')),
    launch('verify', { stream: 'main', reads: ['inputs'] }),
  ]
  return staged(
    peers(name, {
      summary: 'a scheduler stream fills what the verify pass reads',
      first: work,
      last: work,
    }),
  )
}

export const sglang34816 = defineCase({
  id: 'sglang-34816',
  family: 'F16',
  reports: [{ id: 'sglang#34816', url: 'https://github.com/sgl-project/sglang/pull/34816' }],
  mechanism:
    'The scheduler may prepare the next batch only when the verify pass has read ' +
    'the shared buffers. Without the event that says so, it writes them too ' +
    'early.',
  engine: 'SGLang, speculative decoding',
  knobs: ['buf'],
  inferred: 'The report has a coarse wait; the exhibit is what removing it would do.',
  exhibits: [
    {
      when: 'before',
      name: 'no barrier',
      violates: 'P9',
      scenario: () => engine('no-barrier', []),
    },
    {
      when: 'after',
      name: 'prepared when it has been read',
      scenario: () => engine('barrier', [streamWait('schedule', done('verify', 1))]),
    },
  ],
})
