// A kernel of one rank is loaded for the first time while a receive that nobody will match
// spins.

import { launch, type Operation, pend, when } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const wide = sampled({ shape: ['R', 'K+1'] })
const engine = (name: string, last: readonly Operation[], loads: boolean): Scenario =>
  staged(
    pipeline(name, {
      summary: 'receives posted early; a deferred update that is compiled on first use',
      receives: [
        afterForward,
        wide,
        pend(),
        launch('post-update', { stream: 'main', loadsModule: loads }),
      ],
      sends: [afterSample, ...last],
    }),
    {
      device: { residentCollectives: 4, moduleLoading: 'lazy' },
      workload: { choices: [{ firstUse: true }, { firstUse: true, proposal: false }] },
    },
  )
const natural = [when(['proposal'], wide), when(['no-proposal'], sampled())]

export const vllm53577 = defineCase({
  id: 'vllm-53577',
  family: 'A02',
  reports: [
    { id: 'vllm#53577', url: 'https://github.com/vllm-project/vllm/pull/53577' },
    { id: 'vllm#56956', url: 'https://github.com/vllm-project/vllm/pull/56956' },
  ],
  mechanism:
    'An earlier rank posts the token receive and then uses a kernel for the first ' +
    'time, which waits for an idle device. If the payload of that step has ' +
    'another width, the receive never ends and neither does the load.',
  engine: 'vLLM V2 runner, async, PP > 1, DSpark',
  knobs: ['modload', 'width', 'ops'],
  inferred:
    'That the width is what keeps the receive from being matched; a load beside a ' +
    'matched receive ends.',
  exhibits: [
    {
      when: 'before',
      name: 'natural width, lazy load',
      violates: 'P1',
      scenario: () => engine('lazy-natural', natural, true),
    },
    {
      when: 'after',
      name: 'constant width and a kernel compiled ahead',
      scenario: () => engine('padded-precompiled', [wide], false),
    },
    {
      when: 'control',
      name: 'constant width alone: a matched receive lets the load pass',
      scenario: () => engine('padded-lazy', [wide], true),
    },
  ],
})
