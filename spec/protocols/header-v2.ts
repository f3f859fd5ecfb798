// Beside the ladder: rung 5 with a header that sees what no header of the report can. A CRC-32 of
// the mask has equal values for different masks of more than 32 rows (R1), and says nothing of
// which requests the rows are (R2). A digest of 63 bits over request, generation and sampling of
// every row (`digestRows` in header.ts) closes both, but for one in 2^63 pairs of different rows.

import { reportDefaults, type Variant } from './variant.ts'

export const headerV2: Variant = {
  id: 'header-v2',
  summary: 'rung 5 with a header of [seq, row_digest, num_reqs]: closes R1 and R2',
  rung: undefined,
  switches: {
    ...reportDefaults,
    header: 'int64-rows',
    transport: 'gloo',
    draftExecution: 'eager',
  },
  window: 'pp',
  field: undefined,
}
