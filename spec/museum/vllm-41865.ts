// A file lock around a compilation, and a collective inside it.

import { collective, done, hostWait, type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const gather: Operation = collective('gather', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const unlock = (peer: 'first' | 'last'): Operation => rendezvous('lock', peer)
const engine = (name: string, locked: boolean): Scenario =>
  staged(
    peers(name, {
      summary: 'the compilation cache is locked by one process at a time',
      first: locked
        ? [gather, hostWait(done('gather')), unlock('last')]
        : [unlock('last'), gather, hostWait(done('gather'))],
      last: [unlock('first'), gather],
    }),
  )

export const vllm41865 = defineCase({
  id: 'vllm-41865',
  family: 'C05',
  reports: [
    { id: 'vllm#41865', url: 'https://github.com/vllm-project/vllm/issues/41865' },
    { id: 'vllm#45245', url: 'https://github.com/vllm-project/vllm/issues/45245' },
  ],
  mechanism:
    'A process compiles on first use under a file lock and enters a collective ' +
    'before it gives the lock back. Its peer waits for the lock before it can ' +
    'enter the same collective.',
  engine: 'vLLM, TP, first request',
  knobs: ['modload'],
  inferred: 'That the lock is still held inside the collective; the report shows both ' + 'waits.',
  exhibits: [
    {
      when: 'before',
      name: 'the lock is held in the collective',
      violates: 'P1',
      scenario: () => engine('lock-held', true),
    },
    {
      when: 'after',
      name: 'compiled and unlocked before the first collective',
      scenario: () => engine('compiled-ahead', false),
    },
  ],
})
