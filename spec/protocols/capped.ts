// Rung 3 (`1900969`): rung 2 with the batches in flight capped at pp. It looked mended for 66
// minutes and wedged in a later run of the same shape after about 2 627 s.

import { reportDefaults, type Variant } from './variant.ts'

export const capped: Variant = {
  id: 'capped',
  summary: 'rung 2 with batches in flight capped at pp',
  rung: 3,
  switches: reportDefaults,
  window: 'pp',
  field: 'wedge',
}
