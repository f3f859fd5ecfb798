// Rung 5: rung 4 with the draft proposal executed eagerly, while the target model keeps its graphs.
// Clean in the field: 3 900 s of stress, 35 924 engine iterations.

import { reportDefaults, type Variant } from './variant.ts'

export const stabilized: Variant = {
  id: 'stabilized',
  summary: 'rung 4 with eager draft execution',
  rung: 5,
  switches: { ...reportDefaults, transport: 'gloo', draftExecution: 'eager' },
  window: 'pp',
  field: 'clean',
}
