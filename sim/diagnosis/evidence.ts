// The normal form: rank × communicator → enqueued, started, completed, open operations, each with
// where it was read. Every reader fills a part of it; facts that disagree are kept side by side.

/** Where a fact was read. */
export interface Source {
  readonly file: string
  /** Line number or record number, in words: `line 12`, `record 40`, `pg_status`. */
  readonly record: string
}

/** An operation of a communicator on one rank. */
export interface Call {
  readonly sequence: number
  /** `broadcast`, `all_reduce`, ...; lower case without a backend's prefix. */
  readonly kind: string
  readonly dtype: string
  /** Of the first input; undefined when only a count of elements is known. */
  readonly shape: readonly number[] | undefined
  readonly elements: number | undefined
  readonly completed: boolean
  readonly started: boolean
  readonly source: Source
}

/** A point-to-point operation that is not complete; peers are global ranks. */
export interface Hop {
  readonly direction: 'send' | 'recv'
  readonly peer: number
  readonly started: boolean
  readonly source: Source
}

/** What one rank did on one communicator. Unknown counters are undefined. */
export interface Standing {
  readonly rank: number
  enqueued: number | undefined
  started: number | undefined
  completed: number | undefined
  /** Recorded collectives by sequence number. */
  readonly calls: Map<number, Call>
  readonly hops: Hop[]
  readonly sources: Source[]
}

export interface Communicator {
  readonly name: string
  description: string
  /** Global ranks, ascending; undefined when nothing says who belongs to it. */
  members: readonly number[] | undefined
  /** Counters of a communicator with point-to-point traffic count that as well. */
  pointToPoint: boolean
  backend: string
  readonly standings: Map<number, Standing>
}

/** What a rank's own thread does at the end, by its stack. */
export interface StackFact {
  readonly rank: number
  /** Innermost first. */
  readonly functions: readonly string[]
  readonly source: Source
}

/** A sign that a rank is no more, or that its memory is not what it should be. */
export interface Sign {
  readonly rank: number
  readonly sign: 'dead' | 'aborted-on-size' | 'closed-by-peer' | 'never-joined' | 'behind'
  readonly says: string
  readonly source: Source
}

export interface Evidence {
  readonly communicators: Map<string, Communicator>
  /** Ranks with a readable dump. */
  readonly dumped: Set<number>
  /** Ranks whose dump is empty or cannot be read. */
  readonly broken: Map<number, string>
  readonly truncated: Set<number>
  /** Ranks whose dump has counters: a communicator that is not there was never used. */
  readonly counted: Set<number>
  /** Ranks whose dump has started operations: timing events were on. */
  readonly timed: Set<number>
  /** Every rank that a file or a group speaks of. */
  readonly ranks: Set<number>
  readonly stacks: Map<number, StackFact>
  readonly signs: Sign[]
  readonly contradictions: string[]
  /** Further facts for the reader, such as vLLM's own time-outs, with their source. */
  readonly notes: { readonly text: string; readonly source: Source }[]
  /** Facts read, of any kind: nothing at all is a different answer from nothing wrong. */
  facts: number
}

export const noEvidence = (): Evidence => ({
  communicators: new Map(),
  dumped: new Set(),
  broken: new Map(),
  truncated: new Set(),
  counted: new Set(),
  timed: new Set(),
  ranks: new Set(),
  stacks: new Map(),
  signs: [],
  contradictions: [],
  notes: [],
  facts: 0,
})

/** The communicator of a name, made when it is new. */
export function communicatorOf(evidence: Evidence, name: string): Communicator {
  const known = evidence.communicators.get(name)
  if (known !== undefined) return known
  const fresh: Communicator = {
    name,
    description: '',
    members: undefined,
    pointToPoint: false,
    backend: '',
    standings: new Map(),
  }
  evidence.communicators.set(name, fresh)
  return fresh
}

export function standingOf(communicator: Communicator, rank: number): Standing {
  const known = communicator.standings.get(rank)
  if (known !== undefined) return known
  const fresh: Standing = {
    rank,
    enqueued: undefined,
    started: undefined,
    completed: undefined,
    calls: new Map(),
    hops: [],
    sources: [],
  }
  communicator.standings.set(rank, fresh)
  return fresh
}

/** `pp_broadcast (2)` or just the name. */
export const nameOf = ({ name, description }: Communicator): string =>
  description === '' ? `communicator ${name}` : `${description} (${name})`

/** The first operation that the rank has issued and not completed, and the last. */
export function openRange(
  standing: Standing,
  pointToPoint: boolean,
): readonly [number, number] | undefined {
  let first = Number.POSITIVE_INFINITY
  let last = -1
  for (const { sequence, completed: done } of standing.calls.values()) {
    if (done) continue
    first = Math.min(first, sequence)
    last = Math.max(last, sequence)
  }
  const { enqueued, completed } = standing
  if (last >= 0) {
    // The counters remember what a small ring has dropped.
    const dropped = !pointToPoint && completed !== undefined && completed + 1 < first
    return [dropped ? completed + 1 : first, last]
  }
  if (pointToPoint || enqueued === undefined || completed === undefined) return undefined
  // A ring that has dropped the open operation leaves the counters.
  const newest = standing.calls.get(enqueued)
  if (newest?.completed) return undefined
  return completed < enqueued ? [completed + 1, enqueued] : undefined
}
