// Every rank schedules for itself.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import {
  afterForward,
  afterSample,
  pipeline,
  receiveActivation,
  sampled,
  sendActivation,
  staged,
} from './engines.ts'
import { defineCase } from './museum-case.ts'

const shaped = { shape: ['R', 8] as const }
const engine = (name: string, own: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'activations have the size of the batch that a rank scheduled',
      hands: sendActivation(shaped),
      receives: [afterForward, sampled({ shape: [1] }), pend()],
      sends: [afterSample, sampled({ shape: [1] })],
      arrives: receiveActivation(shaped),
    }),
    own ? { faults: [{ kind: 'own-num-reqs' }] } : {},
  )

export const trtllm9659 = defineCase({
  id: 'trtllm-9659',
  family: 'B07',
  reports: [{ id: 'TensorRT-LLM#9659', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/9659' }],
  mechanism:
    'Each stage schedules with its own count of free blocks, so one stage admits ' +
    'another batch than its neighbour and their point-to-point transfers differ ' +
    'in size.',
  engine: 'TensorRT-LLM, PP',
  knobs: ['sched', 'width'],
  exhibits: [
    {
      when: 'before',
      name: 'one rank schedules another batch',
      violates: 'P2',
      scenario: () => engine('own-schedule', true),
    },
    {
      when: 'after',
      name: 'rank 0 schedules for all',
      scenario: () => engine('one-schedule', false),
    },
  ],
})
