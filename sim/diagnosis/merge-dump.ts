// Puts one flight-recorder dump into the normal form. The hard part is which communicator a counter
// belongs to: pg_status is keyed by a number that is local to the rank, pg_config by name.

import { PpcheckError } from '../../spec/error.ts'
import type { Call, Communicator, Evidence, Standing } from './evidence.ts'
import { communicatorOf, standingOf } from './evidence.ts'
import type { FlightDump, FlightEntry } from './flight-recorder.ts'
import { flightDump } from './flight-recorder.ts'
import type { Pickle } from './pickle.ts'

/**
 * `whole`: false for a dump that is cut off. Entries come oldest first, so what it lacks is the
 * end; without its counters nobody knows how far the rank came.
 */
export function mergeDump(
  evidence: Evidence,
  dump: FlightDump,
  { rank, file, whole }: { readonly rank: number; readonly file: string; readonly whole: boolean },
): void {
  const knownToEnd = whole || dump.statuses.length > 0
  if (knownToEnd) evidence.dumped.add(rank)
  evidence.ranks.add(rank)
  if (dump.statuses.length > 0) evidence.counted.add(rank)
  evidence.facts += 1 + dump.entries.length + dump.statuses.length
  for (const { ranks } of dump.groups) for (const each of ranks) evidence.ranks.add(each)
  // Gloo's one nameless group: it says who there is, not which communicator it is.
  for (const { name, description, ranks } of dump.groups) {
    if (name === '') continue
    const communicator = communicatorOf(evidence, name)
    communicator.description ||= description
    const union = new Set([...(communicator.members ?? []), ...ranks])
    communicator.members = [...union].sort((a, b) => a - b)
  }
  const names = namesOfIds(dump)
  const defaultMembers = dump.groups.find(({ name }) => name === '')?.ranks
  for (const entry of dump.entries) mergeEntry(evidence, entry, rank, file, defaultMembers)
  if (!knownToEnd) {
    for (const { standings } of evidence.communicators.values()) {
      const standing = standings.get(rank)
      if (standing !== undefined) standing.enqueued = undefined
    }
  }
  for (const { pgId, enqueued, started, completed } of dump.statuses) {
    const name = names.get(pgId)
    if (name === undefined) continue
    const communicator = communicatorOf(evidence, name)
    communicator.members ??= defaultMembers
    const standing = standingOf(communicator, rank)
    standing.sources.push({ file, record: `pg_status of ${pgId}` })
    if (communicator.pointToPoint) continue
    put(evidence, standing, 'enqueued', enqueued, `${file} and another file`, communicator)
    if (started >= 0) evidence.timed.add(rank)
    if (started >= 0) standing.started = Math.max(standing.started ?? -1, started)
    // It may lag behind the entries, never lead them; "none" is -1 and means zero.
    standing.completed = Math.max(standing.completed ?? 0, completed)
  }
}

/**
 * The same from a pickle that may be cut off. What such a dump still has counts; one that has
 * nothing left is a broken one.
 * @throws PpcheckError PPC502 if it is whole and no dump.
 */
export function mergePickle(evidence: Evidence, read: Pickle, rank: number, file: string): void {
  const { value, truncatedAt } = read
  if (truncatedAt === undefined) {
    mergeDump(evidence, flightDump(value), { rank, file, whole: true })
    return
  }
  evidence.ranks.add(rank)
  const dump = cutDump(value)
  if (dump === undefined) {
    evidence.broken.set(rank, 'is cut off before its first record')
    return
  }
  evidence.truncated.add(rank)
  mergeDump(evidence, dump, { rank, file, whole: false })
}

function cutDump(value: Pickle['value']): FlightDump | undefined {
  try {
    const dump = flightDump(value)
    // The last record is the one that the cut went through.
    const entries = dump.entries.slice(0, -1)
    return entries.length + dump.statuses.length === 0 ? undefined : { ...dump, entries }
  } catch (error) {
    if (error instanceof PpcheckError) return undefined
    throw error
  }
}

/** Which name a rank-local group number has: by the entries, else both sorted as numbers. */
function namesOfIds({ entries, groups, statuses }: FlightDump): ReadonlyMap<number, string> {
  const names = new Map<number, string>()
  for (const { pgId, group } of entries) names.set(pgId, group)
  const named = groups.map(({ name }) => name).filter((name) => /^\d+$/.test(name))
  const ids = statuses.map(({ pgId }) => pgId).sort((a, b) => a - b)
  const sorted = [...named].sort((a, b) => Number(a) - Number(b))
  if (ids.length === sorted.length) {
    const consistent = ids.every((id, i) => (names.get(id) ?? sorted[i]) === sorted[i])
    if (consistent) ids.forEach((id, i) => void names.set(id, sorted[i]))
  } else if (named.length === 0) {
    // Gloo names a group by its number.
    for (const id of ids) if (!names.has(id)) names.set(id, String(id))
  }
  return names
}

function mergeEntry(
  evidence: Evidence,
  entry: FlightEntry,
  rank: number,
  file: string,
  defaultMembers: readonly number[] | undefined,
): void {
  const communicator = communicatorOf(evidence, entry.group)
  communicator.description ||= entry.description
  communicator.backend ||= entry.backend
  communicator.members ??= defaultMembers
  const standing = standingOf(communicator, rank)
  const source = { file, record: `record ${entry.record}` }
  if (entry.pointToPoint) {
    communicator.pointToPoint = true
    const match = /^(send|recv) \d+(?:->|<-)(\d+)/.exec(entry.kind)
    const peer = communicator.members?.[Number(match?.[2] ?? -1)]
    if (match !== null && peer !== undefined && !entry.completed) {
      standing.hops.push({
        direction: match[1] === 'send' ? 'send' : 'recv',
        peer,
        started: entry.started,
        source,
      })
    }
    return
  }
  if (entry.sequence < 0) return
  const shape = entry.inputSizes[0] ?? entry.outputSizes[0]
  const before = standing.calls.get(entry.sequence)
  const call: Call = {
    sequence: entry.sequence,
    kind: entry.kind,
    dtype: entry.inputDtypes[0] ?? '',
    shape,
    elements: shape?.reduce((a, b) => a * b, 1),
    // A twin file of the same dump may have been written a little later.
    completed: entry.completed || before?.completed === true,
    started: entry.started,
    source: before?.source ?? source,
  }
  standing.calls.set(entry.sequence, call)
  standing.enqueued = Math.max(standing.enqueued ?? -1, entry.sequence)
  if (entry.completed) {
    standing.completed = Math.max(standing.completed ?? -1, entry.sequence)
  }
}

/** Sets a counter; two files that disagree are both shown, and the higher one counts. */
function put(
  evidence: Evidence,
  standing: Standing,
  counter: 'enqueued',
  value: number,
  where: string,
  communicator: Communicator,
): void {
  const before = standing[counter]
  if (value < 0) return
  if (before !== undefined && before > value) {
    const who = `rank ${standing.rank} on ${communicator.name}`
    evidence.contradictions.push(`${who}: ${counter} is ${before} and ${value} (${where})`)
  }
  standing[counter] = Math.max(before ?? -1, value)
}
