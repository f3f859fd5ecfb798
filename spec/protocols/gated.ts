// Beside the ladder: the unmodified, symmetric schedule of Model Runner V2, in which both sides
// gate on the same mask and on whether a proposal was made. A negative control: it must not
// deadlock where devices have room, whatever the window.

import { reportDefaults, type Variant } from './variant.ts'

export const gated: Variant = {
  id: 'gated',
  summary: 'both sides gate by the mask; eager drafts; no header; window pp + 1',
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
}
