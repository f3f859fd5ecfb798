// Rung 1 (`8ce1378`): every step posts exactly four broadcasts, with sentinels when there is
// nothing to say. Its first header was int32 and could not carry half of all mask hashes (P11).

import { reportDefaults, type Variant } from './variant.ts'

export const fixedFour: Variant = {
  id: 'fixed-four',
  summary: 'four broadcasts every step with sentinels; int32 header of seq and mask hash',
  rung: 1,
  switches: { ...reportDefaults, header: 'int32' },
  window: 'pp+1',
  field: 'wedge',
}
