// The rules that find who is to blame. Rule A: who waits for a rank that has not issued the
// operation; the culprits are those who are waited for and wait for nobody. Rule B: everybody has
// issued an operation, some have finished it and a rank has not: its device stands still.

import type { Communicator, Evidence } from './evidence.ts'
import { openRange } from './evidence.ts'

/** One rank waits for another to issue (or to start) an operation of a communicator. */
export interface WaitEdge {
  readonly from: number
  readonly to: number
  readonly communicator: string
  readonly sequence: number
  readonly why: 'not-issued' | 'not-started' | 'no-dump'
}

export interface Mismatch {
  readonly communicator: string
  readonly sequence: number
  readonly field: 'kind' | 'dtype' | 'count'
  /** What each group of ranks issued, the largest group first. */
  readonly sides: readonly { readonly says: string; readonly ranks: readonly number[] }[]
}

export interface DeviceStall {
  readonly rank: number
  readonly communicator: string
  readonly sequence: number
  readonly finishedOn: readonly number[]
  /** A root may leave a broadcast early: one operation between ranks is a weak sign. */
  readonly weak: boolean
}

/**
 * The last sequence number that a rank has issued; undefined when nothing says.
 * Counters of a communicator with point-to-point traffic count that too, so only entries serve.
 */
export function issuedBy(
  evidence: Evidence,
  communicator: Communicator,
  rank: number,
): number | undefined {
  const standing = communicator.standings.get(rank)
  if (communicator.pointToPoint) {
    if (evidence.truncated.has(rank)) return undefined
    const numbers = [...(standing?.calls.keys() ?? [])]
    return numbers.length > 0 ? Math.max(...numbers) : undefined
  }
  if (standing?.enqueued !== undefined) return standing.enqueued
  return evidence.counted.has(rank) ? 0 : undefined
}

const membersOf = ({ members, standings }: Communicator): readonly number[] =>
  members ?? [...standings.keys()].sort((a, b) => a - b)

const compare = (a: number, b: number): number => a - b

/** Communicators in the order of their names, numbers as numbers. */
export const inOrder = ({ communicators }: Evidence): Communicator[] =>
  [...communicators.values()].sort(
    (a, b) => Number(a.name) - Number(b.name) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  )

/** Everybody that some rank waits for, by the operations that are open. */
export function waitEdges(evidence: Evidence): WaitEdge[] {
  const edges: WaitEdge[] = []
  for (const communicator of inOrder(evidence)) {
    const members = membersOf(communicator)
    for (const from of members) {
      const standing = communicator.standings.get(from)
      const open = standing && openRange(standing, communicator.pointToPoint)
      if (open === undefined) continue
      const edge = { from, communicator: communicator.name }
      const behind = members.flatMap((to): WaitEdge[] => {
        const issued = to === from ? undefined : issuedBy(evidence, communicator, to)
        // Later ones that it has not issued are no reason: it may itself stand in this one.
        if (issued === undefined || issued >= open[0]) return []
        return [{ ...edge, to, sequence: open[0], why: 'not-issued' }]
      })
      edges.push(...behind)
      if (behind.length > 0) continue
      edges.push(...unstarted(evidence, communicator, from, open[0]))
      // Nobody whose dump is here is behind: then it is somebody whose dump is not.
      const absent = members.filter((to) => issuedBy(evidence, communicator, to) === undefined)
      for (const to of absent) {
        if (evidence.dumped.size === 0 || evidence.dumped.has(to)) continue
        edges.push({ ...edge, to, sequence: open[0], why: 'no-dump' })
      }
    }
  }
  return edges.concat(inOrder(evidence).flatMap((each) => hopEdges(evidence, each)))
}

/**
 * Point-to-point: matched operations complete together, so a rank with more open sends to a peer
 * than the peer has open receives waits for the peer to post the next one. The open ones of both
 * match in order: then the peer has posted it and has not started it, if that is recorded.
 */
function hopEdges(evidence: Evidence, communicator: Communicator): WaitEdge[] {
  const edges: WaitEdge[] = []
  for (const { rank: from, hops } of communicator.standings.values()) {
    for (const direction of ['send', 'recv'] as const) {
      const mine = hops.filter((hop) => hop.direction === direction)
      for (const to of new Set(mine.map(({ peer }) => peer))) {
        const open = mine.filter(({ peer }) => peer === to)
        const theirs = (communicator.standings.get(to)?.hops ?? []).filter(
          (hop) => hop.direction !== direction && hop.peer === from,
        )
        const edge = { from, to, communicator: communicator.name, sequence: 0 }
        const known = evidence.dumped.has(to) && !evidence.truncated.has(to)
        if (theirs.length === 0 && !known) edges.push({ ...edge, why: 'no-dump' })
        else if (theirs.length === 0) edges.push({ ...edge, why: 'not-issued' })
        else if (open[0].started && !theirs[0].started) edges.push({ ...edge, why: 'not-started' })
      }
    }
  }
  return edges
}

/** With timing events on: a collective spins on one device and has not started on another. */
function unstarted(
  evidence: Evidence,
  communicator: Communicator,
  from: number,
  sequence: number,
): WaitEdge[] {
  const hasStarted = (rank: number): boolean => {
    const standing = communicator.standings.get(rank)
    // A small ring has dropped the record; the counter of started operations has not.
    return standing?.calls.get(sequence)?.started ?? (standing?.started ?? -1) >= sequence
  }
  if (!hasStarted(from)) return []
  return membersOf(communicator).flatMap((to): WaitEdge[] => {
    if (to === from || !evidence.timed.has(to) || hasStarted(to)) return []
    return [{ from, to, communicator: communicator.name, sequence, why: 'not-started' }]
  })
}

/** Rule A: ranks that somebody waits for and that wait for nobody. */
export function sinksOf(edges: readonly WaitEdge[]): number[] {
  const waiting = new Set(edges.map(({ from }) => from))
  return [...new Set(edges.map(({ to }) => to))].filter((to) => !waiting.has(to)).sort(compare)
}

/** A shortest cycle of waits, or none; deterministic. */
export function cycleOf(edges: readonly WaitEdge[]): WaitEdge[] {
  const from = new Map<number, WaitEdge[]>()
  for (const edge of edges) from.set(edge.from, [...(from.get(edge.from) ?? []), edge])
  let shortest: WaitEdge[] = []
  for (const start of [...from.keys()].sort(compare)) {
    const reached = new Map<number, WaitEdge[]>([[start, []]])
    const queue = [start]
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
      const path = reached.get(at) as WaitEdge[]
      for (const edge of from.get(at) ?? []) {
        const longer = [...path, edge]
        if (edge.to === start && (shortest.length === 0 || longer.length < shortest.length)) {
          shortest = longer
        }
        if (reached.has(edge.to)) continue
        reached.set(edge.to, longer)
        queue.push(edge.to)
      }
    }
  }
  return shortest
}

/**
 * Rule B. Only where all members have issued the operation: else those who have not are the reason.
 * An operation that ranks issued differently is no evidence of a device either.
 */
export function deviceStalls(evidence: Evidence, mismatches: readonly Mismatch[]): DeviceStall[] {
  const differing = new Set(mismatches.map(({ communicator }) => communicator))
  const found: DeviceStall[] = []
  for (const communicator of inOrder(evidence)) {
    if (communicator.pointToPoint || differing.has(communicator.name)) continue
    const members = membersOf(communicator)
    for (const rank of members) {
      const standing = communicator.standings.get(rank)
      const open = standing && openRange(standing, false)
      if (open === undefined) continue
      const [sequence] = open
      const issued = members.map((each) => issuedBy(evidence, communicator, each) ?? sequence)
      if (issued.some((each) => each < sequence)) continue
      // A root may leave a broadcast early; one operation further on it is no longer that.
      const kind = standing?.calls.get(sequence)?.kind ?? ''
      const slack = /^(broadcast|reduce|gather|scatter)$/.test(kind) ? 1 : 0
      const doneBy = (each: number): number => communicator.standings.get(each)?.completed ?? -1
      const finishedOn = members.filter((each) => each !== rank && doneBy(each) >= sequence)
      const weak = Math.max(-1, ...finishedOn.map(doneBy)) < sequence + slack
      if (finishedOn.length > 0) {
        found.push({ rank, communicator: communicator.name, sequence, finishedOn, weak })
      }
    }
  }
  return found
}

/** Kinds whose element counts are the same on all ranks. */
const equalCounts = /^(broadcast|all_?reduce|_?all_?gather_?(base|into_tensor)?|_?reduce_?scatter)/

/** The first sequence number of each communicator at which ranks issued different operations. */
export function mismatchesOf(evidence: Evidence): Mismatch[] {
  const found: Mismatch[] = []
  for (const communicator of inOrder(evidence)) {
    const numbers = new Set<number>()
    for (const { calls } of communicator.standings.values()) {
      for (const sequence of calls.keys()) numbers.add(sequence)
    }
    for (const sequence of [...numbers].sort(compare)) {
      const mismatch = mismatchAt(communicator, sequence)
      if (mismatch === undefined) continue
      found.push(mismatch)
      break
    }
  }
  return found
}

function mismatchAt(communicator: Communicator, sequence: number): Mismatch | undefined {
  const calls = [...communicator.standings.values()].flatMap(({ rank, calls: all }) => {
    const call = all.get(sequence)
    return call === undefined ? [] : [{ rank, call }]
  })
  if (calls.length < 2) return undefined
  const [{ call: first }] = calls
  const fields = [
    ['kind', ({ kind }: typeof first) => kind],
    ['dtype', ({ dtype }: typeof first) => dtype],
    ['count', ({ elements }: typeof first) => String(elements ?? '')],
  ] as const
  for (const [field, read] of fields) {
    if (field === 'count' && !equalCounts.test(first.kind)) continue
    const sides = new Map<string, number[]>()
    for (const { rank, call } of calls) {
      const value = read(call)
      if (value !== '') sides.set(value, [...(sides.get(value) ?? []), rank])
    }
    if (sides.size < 2) continue
    const say = (value: string): string =>
      field === 'count' ? `${value} elements` : field === 'dtype' ? `dtype ${value}` : value
    const ordered = [...sides].map(([value, ranks]) => ({ says: say(value), ranks }))
    ordered.sort((a, b) => b.ranks.length - a.ranks.length || a.ranks[0] - b.ranks[0])
    return { communicator: communicator.name, sequence, field, sides: ordered }
  }
  return undefined
}

/**
 * A hop that only the stacks show (Gloo records no point-to-point): a rank sits in `send` or `recv`
 * with a pipeline neighbour that has gone on to a collective that the waiting rank has not reached.
 */
export function skippedHops(
  evidence: Evidence,
): { readonly rank: number; readonly waiting: number; readonly direction: 'send' | 'recv' }[] {
  const found: { rank: number; waiting: number; direction: 'send' | 'recv' }[] = []
  const issuedMost = (rank: number): number =>
    Math.max(-1, ...inOrder(evidence).map((each) => issuedBy(evidence, each, rank) ?? -1))
  for (const [waiting, { functions }] of [...evidence.stacks].sort(([a], [b]) => a - b)) {
    const direction = hopIn(functions)
    if (direction === undefined) continue
    const rank = direction === 'send' ? waiting + 1 : waiting - 1
    const peer = evidence.stacks.get(rank)
    if (peer === undefined || hopIn(peer.functions) !== undefined) continue
    if (issuedMost(rank) > issuedMost(waiting)) found.push({ rank, waiting, direction })
  }
  return found
}

const hopIn = (functions: readonly string[]): 'send' | 'recv' | undefined => {
  const call = functions.slice(0, 12).find((name) => /^(i?send|i?recv)$/.test(name))
  return call === undefined ? undefined : call.endsWith('send') ? 'send' : 'recv'
}
