// An exception on one rank before a broadcast in which all others wait.

import { broadcast, done, hostWait, launch, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const result: Operation = broadcast('profile', {
  communicator: 'control',
  root: 'first',
  stream: 'cpu',
  dtype: 'int64',
  shape: [1],
})
const engine = (name: string, throws: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'rank 0 profiles and broadcasts the result',
      communicators: { control: { kind: 'group' } },
      first: [launch('profile-run', { stream: 'main' }), hostWait(done('profile-run')), result],
      last: [result, hostWait(done('profile'))],
    }),
    throws ? { faults: [{ kind: 'throw', rank: 0 }], workload: { steps: 2 } } : {},
  )

export const sglang37675 = defineCase({
  id: 'sglang-37675',
  family: 'D09',
  reports: [{ id: 'sglang#37675', url: 'https://github.com/sgl-project/sglang/pull/37675' }],
  mechanism:
    'Profiling throws on the first stage, which alone switches the feature off. ' +
    'The other stages wait for its broadcast until the watchdog ends them.',
  engine: 'SGLang, PP, start-up',
  knobs: ['exc'],
  exhibits: [
    {
      when: 'before',
      name: 'the exception comes before the broadcast',
      violates: 'P1',
      scenario: () => engine('throws', true),
    },
    {
      when: 'after',
      name: 'a failure value is broadcast: no way round the post',
      scenario: () => engine('failure-value', false),
    },
  ],
})
