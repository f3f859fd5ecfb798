// A group broadcast inside a node of a graph of actors, whose ranks do not run side by side.

import { done, hostWait, receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { forward, pipeline, sampled, sendActivation, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const tokens = sampled({ stream: 'main' })
const form = { communicator: 'direct', dtype: 'int64', shape: ['R', 1], stream: 'cpu' } as const
const engine = (name: string, inside: boolean): Scenario =>
  staged(
    inside
      ? pipeline(name, {
          summary: 'a stage hands on its activations when its node is done',
          consumes: [],
          computes: [forward],
          hands: [tokens, hostWait(done('sampled')), ...sendActivation()],
          receives: [],
          sends: [tokens],
        })
      : pipeline(name, {
          summary: 'tokens go from the last stage to each other one',
          communicators: { direct: { kind: 'pair' } },
          consumes: [],
          receives: [receive('direct', { ...form, peer: 'last' })],
          sends: [send('direct', { ...form, peer: 0 }), send('direct', { ...form, peer: 1 })],
        }),
    { pp: 3 },
  )

export const vllm40084 = defineCase({
  id: 'vllm-40084',
  family: 'A30',
  reports: [{ id: 'vllm#40084', url: 'https://github.com/vllm-project/vllm/pull/40084' }],
  mechanism:
    'In a compiled graph of actors the stages of one step run one after the ' +
    'other, so a broadcast of the group inside a stage waits for stages that are ' +
    'not started before this one returns. Messages from the last stage to each ' +
    'other one replace it.',
  engine: 'vLLM, PP, Ray compiled graph',
  knobs: ['ctrl', 'window'],
  inferred: 'The broadcast inside the stage is what the change avoids; it was not ' + 'shipped.',
  exhibits: [
    {
      when: 'before',
      name: 'a group broadcast inside the stage',
      violates: 'P1',
      scenario: () => engine('broadcast-inside', true),
    },
    {
      when: 'after',
      name: 'point to point, received later',
      scenario: () => engine('point-to-point', false),
    },
  ],
})
