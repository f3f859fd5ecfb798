// One field, two element types.

import { pend } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { afterForward, afterSample, pipeline, sampled, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const engine = (name: string, dtype: 'int32' | 'int64'): Scenario =>
  staged(
    pipeline(name, {
      summary: 'a relayed field',
      receives: [afterForward, sampled({ dtype }), pend()],
      sends: [afterSample, sampled()],
    }),
  )

export const sglang28043 = defineCase({
  id: 'sglang-28043',
  family: 'E12',
  reports: [{ id: 'sglang#28043', url: 'https://github.com/sgl-project/sglang/issues/28043' }],
  mechanism:
    'A relayed field is int64 where it is sent and int32 where it is received, so ' +
    'its bytes are read as other numbers.',
  engine: 'SGLang, PP relay',
  knobs: ['dtype'],
  exhibits: [
    {
      when: 'before',
      name: 'int32 on one side',
      violates: 'P2',
      scenario: () => engine('narrow', 'int32'),
    },
    { when: 'after', name: 'int64 on both', scenario: () => engine('equal', 'int64') },
  ],
})
