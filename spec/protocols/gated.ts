// Beside the ladder: the unmodified, symmetric schedule of Model Runner V2. Both sides gate on
// their own mask, and a proposal is made whenever the mask is not empty. A negative control: it
// must not deadlock where devices have room, whatever the window. Should a proposal be skipped,
// the root sends no drafts and the receivers still expect them: `explore` finds that as P2 if
// asked.

import { reportDefaults, type Variant } from './variant.ts'

export const gated: Variant = {
  id: 'gated',
  summary: 'both sides gate by their mask; eager drafts; no header; window pp + 1',
  rung: undefined,
  switches: {
    ...reportDefaults,
    schedule: 'gated',
    header: 'none',
    draftExecution: 'eager',
    activationMetadata: 'rendezvous',
  },
  window: 'pp+1',
  field: undefined,
  skipsProposals: false,
}
