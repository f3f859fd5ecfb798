// Rung 2 (`fa93533`): the header is int64 [seq, mask_hash, num_reqs], every receiver checks it
// before it posts the rest, and both sides count at the same protocol point.

import { reportDefaults, type Variant } from './variant.ts'

export const fixedFourHeader64: Variant = {
  id: 'fixed-four-header64',
  summary: 'four broadcasts every step; int64 header with num_reqs, checked by every receiver',
  rung: 2,
  switches: reportDefaults,
  window: 'pp+1',
  field: 'wedge',
}
