// Rung 4 (`6ea9ae6`): the four payloads on a Gloo group of their own; the draft's buffer and work
// handle are kept until consumption, so several batches can be pending at once.

import { reportDefaults, type Variant } from './variant.ts'

export const glooDeferred: Variant = {
  id: 'gloo-deferred',
  summary: 'rung 3 with the token payloads on a CPU transport and deferred draft receives',
  rung: 4,
  switches: { ...reportDefaults, transport: 'gloo' },
  window: 'pp',
  field: 'wedge',
}
