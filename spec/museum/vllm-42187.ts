// Model Runner V2's own protocol, and each of its elements turned by one.

import { freeRows, type Operation, pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { adopt, afterForward, afterSample, counts, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (
  name: string,
  consumes: readonly Operation[],
  window = 4,
  reused = true,
): Scenario =>
  staged(
    pipeline(name, {
      summary: 'side stream, sibling communicator, FIFO of pp slots, generations',
      consumes,
      receives: [afterForward, sampled(), counts(), pend()],
      sends: [afterSample, sampled(), counts()],
    }),
    { pp: 3, window, ...(reused ? { faults: [{ kind: 'request-reused' as const }] } : {}) },
  )
const take = (more: Parameters<typeof adopt>[0] = {}): Operation =>
  adopt({ after: 'counts', adopts: ['sampled', 'counts'], ...more })

export const vllm42187 = defineCase({
  id: 'vllm-42187',
  family: 'A18',
  reports: [{ id: 'vllm#42187', url: 'https://github.com/vllm-project/vllm/pull/42187' }],
  mechanism:
    'The reference: equal gates, receives on a side stream, taken exactly pp ' +
    'steps later by rows whose generation is unchanged. It holds with pp + 1 ' +
    'steps in flight; turn any element by one and it does not.',
  engine: 'vLLM V2 runner, async, PP3',
  knobs: ['window', 'cadence', 'gen'],
  exhibits: [
    {
      when: 'control',
      name: 'the reference, pp + 1 steps in flight',
      scenario: () => engine('reference', [take(), freeRows()]),
    },
    {
      when: 'control',
      name: 'mutant: FIFO of pp + 1 slots',
      violates: 'P7',
      scenario: () => engine('fifo-deeper', [take({ stepsAgo: 4 }), freeRows()]),
    },
    {
      when: 'control',
      name: 'mutant: FIFO of pp − 1 slots',
      violates: 'P7',
      scenario: () => engine('fifo-shorter', [take({ stepsAgo: 2 }), freeRows()]),
    },
    {
      when: 'control',
      name: 'mutant: no generation check',
      violates: 'P8',
      scenario: () => engine('no-generation', [take({ generationCheck: false }), freeRows()]),
    },
    {
      when: 'control',
      name: 'mutant: taken after the frees, unchecked',
      violates: 'P8',
      scenario: () => engine('taken-late', [freeRows(), take({ generationCheck: false })]),
    },
  ],
})
