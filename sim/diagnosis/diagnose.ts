// Evidence to verdict: which ranks are to blame, how sure that is, and what would make it surer.
// It must never be surer than the evidence: a missing dump or an unknown group lowers confidence.

import type { Communicator, Evidence } from './evidence.ts'
import { nameOf, openRange } from './evidence.ts'
import type { HazardMatch } from './hazards.ts'
import { hazardsOf } from './hazards.ts'
import type { Phase } from './phase.ts'
import { phaseOf } from './phase.ts'
import type { DeviceStall, Mismatch, WaitEdge } from './rules.ts'
import {
  cycleOf,
  deviceStalls,
  inOrder,
  issuedBy,
  mismatchesOf,
  sinksOf,
  skippedHops,
  waitEdges,
} from './rules.ts'

export type CulpritKind = 'host' | 'device' | 'mismatch' | 'dead' | 'unknown'

export interface Culprit {
  readonly rank: number
  /** Where it is seen; empty when only logs speak of the rank. */
  readonly communicator: string
  readonly kind: CulpritKind
  /** 0 to 1. */
  readonly confidence: number
  readonly why: string
}

export interface Divergence {
  readonly communicator: string
  readonly sequence: number
  readonly phase: Phase | undefined
}

export type Outcome = 'nothing-wrong' | 'explained' | 'insufficient'

export interface Diagnosis {
  readonly outcome: Outcome
  readonly culprits: readonly Culprit[]
  readonly divergence: Divergence | undefined
  readonly edges: readonly WaitEdge[]
  readonly cycle: readonly WaitEdge[]
  readonly mismatches: readonly Mismatch[]
  readonly stalls: readonly DeviceStall[]
  readonly hazards: readonly HazardMatch[]
  /** What is not there and would decide or confirm. */
  readonly missing: readonly string[]
}

/** How sure a finding of each rule is when nothing is missing. */
const sure = { sink: 0.9, device: 0.9, mismatch: 0.9, dead: 0.9, absent: 0.6, tie: 0.5, cycle: 0.6 }

export function diagnose(evidence: Evidence): Diagnosis {
  const mismatches = mismatchesOf(evidence)
  const edges = waitEdges(evidence)
  const cycle = cycleOf(edges)
  const stalls = deviceStalls(evidence, mismatches)
  const culprits = culpritsOf(evidence, { mismatches, edges, cycle, stalls })
  const open = inOrder(evidence).some(({ standings, pointToPoint }) =>
    [...standings.values()].some(
      (standing) => standing.hops.length > 0 || openRange(standing, pointToPoint) !== undefined,
    ),
  )
  const divergence = divergenceOf(evidence, culprits, { mismatches, edges, stalls }, open)
  const outcome: Outcome = culprits.some(({ confidence }) => confidence >= 0.5)
    ? 'explained'
    : evidence.facts > 0 && !open && culprits.length === 0 && isWhole(evidence)
      ? 'nothing-wrong'
      : 'insufficient'
  const hazards =
    outcome === 'explained' || open ? hazardsFor(evidence, culprits, cycle, divergence) : []
  return {
    outcome,
    culprits,
    divergence,
    edges,
    cycle,
    mismatches,
    stalls,
    hazards,
    missing: missingOf(evidence, outcome),
  }
}

/** Do dumps of all ranks say that all is well? Logs alone never do. */
const isWhole = ({ dumped, ranks, broken, truncated, signs }: Evidence): boolean =>
  dumped.size > 0 &&
  broken.size === 0 &&
  truncated.size === 0 &&
  signs.length === 0 &&
  [...ranks].every((rank) => dumped.has(rank))

/** Is it known of every rank how far it came? Else the rank may wait for one that is not known. */
const isComplete = ({ dumped, ranks, truncated }: Evidence): boolean =>
  truncated.size === 0 && [...ranks].every((rank) => dumped.has(rank))

interface Findings {
  readonly mismatches: readonly Mismatch[]
  readonly edges: readonly WaitEdge[]
  readonly cycle: readonly WaitEdge[]
  readonly stalls: readonly DeviceStall[]
}

function culpritsOf(evidence: Evidence, findings: Findings): Culprit[] {
  const { mismatches, edges, cycle, stalls } = findings
  const found = new Map<number, Culprit>()
  const scale = evidence.truncated.size + evidence.broken.size > 0 ? 0.85 : 1
  const add = (culprit: Culprit): void => {
    const before = found.get(culprit.rank)
    if (before !== undefined && before.confidence >= culprit.confidence) return
    found.set(culprit.rank, { ...culprit, confidence: round(culprit.confidence * scale) })
  }
  // What a rank said as it died explains more than anybody who waits for it.
  for (const sign of signCulprits(evidence)) add(sign)
  if (found.size > 0 && [...found.values()].some(({ kind }) => kind !== 'unknown')) {
    return sorted(found)
  }
  const reached = mismatches.filter((mismatch) => wasReached(mismatch, edges))
  for (const mismatch of reached) {
    // Ranks stand before it, at an operation that a small ring has dropped: that may differ too.
    const early = firstOpen(evidence, mismatch) < mismatch.sequence
    for (const each of fromMismatch(mismatch)) add(early ? { ...each, confidence: sure.tie } : each)
  }
  if (found.size > 0) {
    // Somebody may be missing at the very operation that differs; which was first is not known.
    for (const rank of sinksOf(edges)) {
      if (!found.has(rank)) add({ ...fromSink(evidence, edges, rank), confidence: sure.tie })
    }
    return sorted(found)
  }
  for (const { rank, communicator, sequence, finishedOn, weak } of stalls) {
    const why = `issued #${sequence} and has not finished it, rank ${finishedOn[0]} has`
    add({ rank, communicator, kind: 'device', confidence: weak ? sure.tie : sure.device, why })
  }
  const hops = skippedHops(evidence)
  const sinks = sinksOf(edges)
  const hopCulprits = hops.filter(({ waiting }) => sinks.includes(waiting))
  if (hopCulprits.length > 0) {
    for (const { rank, waiting, direction } of hopCulprits) {
      const why = `rank ${waiting} is in ${direction} with it, and it has gone on: a hop is skipped`
      add({ rank, communicator: '', kind: 'host', confidence: sure.sink, why })
    }
    return sorted(found)
  }
  for (const rank of sinks) {
    if (found.get(rank)?.kind === 'device') continue
    add(fromSink(evidence, edges, rank))
  }
  if (found.size === 0 && cycle.length > 0) {
    for (const each of fromCycle(edges, cycle)) add(each)
  }
  return sorted(found)
}

/** Ranks that stand at an earlier operation have not come to the one that differs. */
const wasReached = ({ communicator, sequence }: Mismatch, edges: readonly WaitEdge[]): boolean =>
  !edges.some((edge) => edge.communicator === communicator && edge.sequence < sequence)

const firstOpen = ({ communicators }: Evidence, { communicator }: Mismatch): number => {
  const { standings, pointToPoint } = communicators.get(communicator) as Communicator
  const starts = [...standings.values()].map((each) => openRange(each, pointToPoint)?.[0])
  return Math.min(...starts.map((start) => start ?? Number.POSITIVE_INFINITY))
}

const round = (value: number): number => Math.round(value * 100) / 100
const sorted = (found: ReadonlyMap<number, Culprit>): Culprit[] =>
  [...found.values()].sort((a, b) => a.rank - b.rank)

/** Ranks that logs call dead, aborted or never joined. */
function signCulprits({ signs }: Evidence): Culprit[] {
  return signs.flatMap(({ rank, sign, says }): Culprit[] => {
    const base = { rank, communicator: '', why: says }
    switch (sign) {
      case 'aborted-on-size':
        return [{ ...base, kind: 'mismatch', confidence: 0.85 }]
      case 'dead':
        return [{ ...base, kind: 'dead', confidence: 0.85 }]
      case 'never-joined':
        return [{ ...base, kind: 'host', confidence: 0.85 }]
      case 'behind':
        return [{ ...base, kind: 'host', confidence: 0.6 }]
      case 'closed-by-peer':
        return []
    }
  })
}

function fromMismatch({ communicator, sequence, field, sides }: Mismatch): Culprit[] {
  const [most, ...others] = sides
  const tie = others[0].ranks.length === most.ranks.length
  const blamed = tie ? sides : others
  return blamed.flatMap(({ says, ranks }) =>
    ranks.map((rank) => ({
      rank,
      communicator,
      kind: 'mismatch' as const,
      confidence: tie ? sure.tie : sure.mismatch,
      why: `${field} differs at #${sequence}: ${says}${tie ? '' : `, others ${most.says}`}`,
    })),
  )
}

function fromSink(evidence: Evidence, edges: readonly WaitEdge[], rank: number): Culprit {
  const waits = edges.filter(({ to }) => to === rank)
  const [{ communicator, sequence, why }] = waits
  const waiting = [...new Set(waits.map(({ from }) => from))].length
  const many = waiting === 1 ? `rank ${waits[0].from} waits` : `${waiting} ranks wait`
  if (why !== 'no-dump') {
    const done = why === 'not-issued' ? 'issued' : 'started'
    // Gloo records no point-to-point: without its stack the rank may itself wait for a hop.
    const { backend } = evidence.communicators.get(communicator) as Communicator
    const blind = backend === 'gloo' && evidence.ranks.size > 2 && !evidence.stacks.has(rank)
    const ordered = why === 'not-issued' && aloneBehind(waits, edges)
    return {
      rank,
      communicator,
      kind: why === 'not-issued' ? 'host' : 'device',
      confidence: (blind && !ordered) || !isComplete(evidence) ? sure.absent : sure.sink,
      why: `has not ${done} ${numbered(sequence)}, ${many} for it`,
    }
  }
  const closed = evidence.signs.some(({ sign }) => sign === 'closed-by-peer')
  const others = edges.filter((edge) => edge.why === 'no-dump' && edge.to !== rank).length > 0
  return {
    rank,
    communicator,
    kind: closed || evidence.broken.has(rank) ? 'dead' : 'unknown',
    confidence: closed ? sure.dead : others ? 0.4 : sure.absent,
    why: `left no readable dump; everybody else has issued ${numbered(sequence)}, ${many} for it`,
  }
}

/** Is this rank the only one that anybody waits for? */
const aloneBehind = (waits: readonly WaitEdge[], edges: readonly WaitEdge[]): boolean =>
  edges.every(({ to }) => to === waits[0].to)

const numbered = (sequence: number): string => (sequence > 0 ? `#${sequence}` : 'the hop')

/** In a cycle nobody is wrong alone; those whose order fewer ranks share are named. */
function fromCycle(edges: readonly WaitEdge[], cycle: readonly WaitEdge[]): Culprit[] {
  const on = new Map<string, Set<number>>()
  for (const { from, communicator } of edges) {
    on.set(communicator, (on.get(communicator) ?? new Set()).add(from))
  }
  const sides = cycle.map((edge) => ({ edge, size: on.get(edge.communicator)?.size ?? 0 }))
  const least = Math.min(...sides.map(({ size }) => size))
  const tie = sides.every(({ size }) => size === least)
  return sides
    .filter(({ size }) => tie || size === least)
    .map(({ edge: { from, to, communicator, sequence, why } }) => ({
      rank: from,
      communicator,
      kind: why === 'not-started' ? ('device' as const) : ('host' as const),
      confidence: tie ? sure.tie : sure.cycle,
      why: `waits in ${numbered(sequence)} for rank ${to}, which waits back elsewhere`,
    }))
}

/** The first operation at which the ranks part. */
function divergenceOf(
  evidence: Evidence,
  culprits: readonly Culprit[],
  { mismatches, edges, stalls }: Omit<Findings, 'cycle'>,
  open: boolean,
): Divergence | undefined {
  const at = (name: string, sequence: number): Divergence => {
    const communicator = evidence.communicators.get(name) as Communicator
    return { communicator: name, sequence, phase: phaseOf(communicator, sequence) }
  }
  const mine = culprits.map(({ rank }) => rank)
  const mismatch = mismatches.find((each) => wasReached(each, edges))
  if (mismatch !== undefined) {
    return at(mismatch.communicator, Math.min(mismatch.sequence, firstOpen(evidence, mismatch)))
  }
  // Numbers of point-to-point operations differ on the two sides and name nothing.
  const named = edges.filter(({ sequence }) => sequence > 0)
  const recorded = named.filter((each) => hasCalls(evidence, each.communicator))
  const candidates = recorded.length > 0 ? recorded : named
  const edge = candidates.find(({ to }) => mine.includes(to)) ?? candidates[0]
  if (edge !== undefined) return at(edge.communicator, edge.sequence)
  const [stall] = stalls
  if (stall !== undefined) return at(stall.communicator, stall.sequence)
  if (!open) return undefined
  for (const communicator of inOrder(evidence)) {
    for (const standing of communicator.standings.values()) {
      const range = openRange(standing, communicator.pointToPoint)
      if (range !== undefined) return at(communicator.name, range[0])
    }
  }
  return undefined
}

const hasCalls = ({ communicators }: Evidence, name: string): boolean =>
  [...(communicators.get(name)?.standings.values() ?? [])].some(({ calls }) => calls.size > 0)

function hazardsFor(
  evidence: Evidence,
  culprits: readonly Culprit[],
  cycle: readonly WaitEdge[],
  divergence: Divergence | undefined,
): HazardMatch[] {
  if (divergence === undefined) return []
  const communicator = evidence.communicators.get(divergence.communicator) as Communicator
  const members = communicator.members ?? [...communicator.standings.keys()]
  const last = Math.max(...members)
  const kind = culprits[0]?.kind
  const { sequence, phase } = divergence
  const behind = members.filter(
    (rank) => (issuedBy(evidence, communicator, rank) ?? sequence) < sequence,
  )
  const blamed = behind.filter((rank) => culprits.some((culprit) => culprit.rank === rank))
  return hazardsOf({
    pp: members.length,
    phase,
    tokenBroadcast: phase !== undefined || /pp|pipeline|token/i.test(communicator.description),
    kind,
    lastRankBehind: blamed.includes(last),
    receiverBehind: blamed.some((rank) => rank !== last),
    crossCommunicator: new Set(cycle.map((edge) => edge.communicator)).size > 1,
    allIssued: culprits.length === 0,
    gloo: communicator.backend === 'gloo',
  })
}

/** What to collect, with the variables that make it be there. */
function missingOf(evidence: Evidence, outcome: Outcome): string[] {
  const { dumped, broken, truncated, ranks, stacks } = evidence
  const missing: string[] = []
  const absent = [...ranks].filter((rank) => !dumped.has(rank) && !broken.has(rank))
  absent.sort((a, b) => a - b)
  if (outcome === 'nothing-wrong') return missing
  if (absent.length > 0) {
    missing.push(
      `flight-recorder dumps of rank ${absent.join(', ')}: TORCH_FR_BUFFER_SIZE=20000 ` +
        'TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_FR_DUMP_TEMP_FILE=/var/dump/rank_ ' +
        '(before torch 2.8: TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DEBUG_INFO_TEMP_FILE)',
    )
  }
  for (const [rank, why] of [...broken].sort(([a], [b]) => a - b)) {
    missing.push(`a whole dump of rank ${rank}: this one ${why}`)
  }
  for (const rank of [...truncated].sort((a, b) => a - b)) {
    missing.push(`the rest of the dump of rank ${rank}: it is cut off`)
  }
  if (ranks.size === 0) missing.push('any dump or log that names a rank')
  if (outcome === 'insufficient' && stacks.size === 0) {
    missing.push('stacks of every rank: py-spy dump --pid PID, or faulthandler on SIGUSR1')
  }
  const unknown = inOrder(evidence).filter(({ members }) => members === undefined)
  if (outcome === 'insufficient' && unknown.length > 0) {
    missing.push(`who belongs to ${unknown.slice(0, 4).map(nameOf).join(', ')}`)
  }
  return missing
}
