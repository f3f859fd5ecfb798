// A collective for logging, only where a certain layer lives.

import { collective, type Operation } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const log: Operation = collective('log', {
  communicator: 'group',
  stream: 'main',
  dtype: 'int64',
  shape: [1],
})
const work: Operation = collective('gradients', {
  communicator: 'group',
  stream: 'main',
  dtype: 'bfloat16',
  shape: [8],
})
const engine = (name: string, middle: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary: 'losses are logged by a collective',
      first: [log, work],
      middle,
      last: [log, work],
    }),
    { pp: 3 },
  )

export const paddlefleet1136 = defineCase({
  id: 'paddlefleet-1136',
  family: 'H09',
  reports: [
    { id: 'PaddleFleet#1136', url: 'https://github.com/PaddlePaddle/PaddleFleet/pull/1136' },
    { id: 'Megatron-LM#4745', url: 'https://github.com/NVIDIA/Megatron-LM/pull/4745' },
  ],
  mechanism:
    'The collective that logs a loss is entered only on stages that contain a ' +
    'certain type of layer, so the others pair it with their next collective or ' +
    'never come.',
  engine: 'PaddleFleet and Megatron-LM, PP training',
  knobs: ['skip'],
  exhibits: [
    {
      when: 'before',
      name: 'a stage without the layer leaves it out',
      violates: 'P2',
      scenario: () => engine('by-layer', [work]),
    },
    { when: 'after', name: 'every stage enters it', scenario: () => engine('by-all', [log, work]) },
  ],
})
