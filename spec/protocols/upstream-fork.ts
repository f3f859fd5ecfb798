// Rung 0 of the ladder: the fork as it was (vllm#53402). The last rank gates its sends on its own
// mask; receivers post the draft receive in any case; nothing on the wire names the step.

import { reportDefaults, type Variant } from './variant.ts'

export const upstreamFork: Variant = {
  id: 'upstream-fork',
  summary: 'data-dependent schedule, drafts received in any case, no header, window pp + 1',
  rung: 0,
  switches: { ...reportDefaults, schedule: 'always', header: 'none' },
  window: 'pp+1',
  field: 'wedge',
}
