// P1..P12 (page 2.5): the named claims that a verdict speaks of. A property is a name, what it says
// and why it matters; where it is evaluated is stated by `when`, and the world evaluates it there.

export const propertyIds = [
  'P1',
  'P2',
  'P3',
  'P4',
  'P5',
  'P6',
  'P7',
  'P8',
  'P9',
  'P10',
  'P11',
  'P12',
] as const
export type PropertyId = (typeof propertyIds)[number]

export interface Property {
  readonly id: PropertyId
  readonly name: string
  readonly says: string
  /** One sentence of why an engineer cares. */
  readonly why: string
  /** Where it is evaluated: in a state, on a step of a rank, on a match, or over whole runs. */
  readonly when: 'state' | 'rank' | 'match' | 'run'
}

export const properties: Readonly<Record<PropertyId, Property>> = {
  P1: {
    id: 'P1',
    name: 'deadlock-freedom',
    says: 'never: outstanding work and nothing enabled',
    why: 'a wedged pipeline freezes every request until a watchdog kills the engine',
    when: 'state',
  },
  P2: {
    id: 'P2',
    name: 'collective-match',
    says: 'operations at the same position of a communicator agree in kind, root, dtype, count',
    why: 'NCCL negotiates nothing: a mismatch hangs, shifts data or leaves garbage',
    when: 'match',
  },
  P3: {
    id: 'P3',
    name: 'token-agreement',
    says: 'what a rank adopts for a step is what the last rank sent for that step, row by row',
    why: 'a rank that adopts other tokens computes activations of a text that nobody generated',
    when: 'rank',
  },
  P4: {
    id: 'P4',
    name: 'fail-fast',
    says: 'a divergence is reported before a wrong payload is adopted, and without a watchdog',
    why: 'a watchdog costs a minute of a dead engine and says nothing about the cause',
    when: 'state',
  },
  P5: {
    id: 'P5',
    name: 'no-false-alarm',
    says: 'without a divergence, no validation fails',
    why: 'a check that kills healthy engines will be switched off',
    when: 'rank',
  },
  P6: {
    id: 'P6',
    name: 'progress',
    says: 'every dispatched step is completed under fair scheduling',
    why: 'a busy loop that never ends is a wedge that no deadlock detector sees',
    when: 'run',
  },
  P7: {
    id: 'P7',
    name: 'bounded-window',
    says: 'in flight ≤ W; pending receives per rank ≤ pp; step t is consumed exactly at t + pp',
    why: 'buffers, slots and sequence numbers are sized for exactly this',
    when: 'rank',
  },
  P8: {
    id: 'P8',
    name: 'no-stale-write',
    says: 'a row that was freed or reused since its receive writes nothing',
    why: 'a stale write puts the tokens of one user into the request of another',
    when: 'rank',
  },
  P9: {
    id: 'P9',
    name: 'buffer-lifetime',
    says: 'no buffer is written, freed or handed out again before its last reader is done',
    why: 'the allocator reuses memory at once; the reader then sees another step',
    when: 'rank',
  },
  P10: {
    id: 'P10',
    name: 'quiescence',
    says: 'when the engine is idle, no operation is left unmatched',
    why: 'an unmatched post blocks sleep, shutdown and the next collective',
    when: 'state',
  },
  P11: {
    id: 'P11',
    name: 'header-representable',
    says: 'every header field fits its dtype',
    why: 'an int32 cannot carry half of all CRC-32 values: the sender raises',
    when: 'rank',
  },
  P12: {
    id: 'P12',
    name: 'position-agreement',
    says: 'positions used at t + pp are equal on all ranks (optimistic count minus rejected)',
    why: 'a rank that is one position off reads and writes the wrong KV cache slots',
    when: 'rank',
  },
}
