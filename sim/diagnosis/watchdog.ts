// The lines of PyTorch's NCCL watchdog, torch 2.0 to 2.13, and of its desync report. They come with
// every prefix there is (Ray, srun, `  | `, colours) and hard-wrapped, so what is compared is the
// text without any white space, joined until it matches.

import type { Call, Evidence, Source } from './evidence.ts'
import { communicatorOf, standingOf } from './evidence.ts'

/** Every number of one timeout line. */
export interface TimeoutLine {
  readonly is: 'timeout'
  /** The global rank of the prefix `[rankN]`; undefined in old versions. */
  readonly globalRank: number | undefined
  /** The rank in its group. */
  readonly groupRank: number
  readonly sequence: number
  readonly operation: string
  readonly elementsIn: number | undefined
  readonly elementsOut: number | undefined
  readonly timeoutMs: number
  readonly ranMs: number | undefined
}

/** Every number of one status line. */
export interface StatusLine {
  readonly is: 'status'
  readonly globalRank: number | undefined
  readonly groupRank: number | undefined
  readonly pgId: number
  /** Its name (PG GUID); since torch 2.5. */
  readonly group: string | undefined
  readonly description: string
  readonly work: number | undefined
  readonly enqueued: number
  readonly started: number | undefined
  readonly startedOperation: string | undefined
  /** Undefined where torch printed uninitialised memory. */
  readonly completed: number | undefined
}

export interface SignalLine {
  readonly is: 'signal'
  readonly globalRank: number | undefined
  /** The rank whose timeout it was; undefined: this one. */
  readonly from: number | undefined
  readonly enqueued: number
  readonly completed: number
}

export interface DesyncLine {
  readonly is: 'desync'
  readonly rank: number
  readonly finished: number
  readonly missed: number
}

export type WatchdogLine = TimeoutLine | StatusLine | SignalLine | DesyncLine

const elements = String.raw`(?:,NumelIn=(\d+),NumelOut=(\d+))?`
const work =
  String.raw`WorkNCCL\(SeqNum=(\d*),OpType=(\w+)${elements},` + String.raw`Timeout\(ms\)=(\d+)\)`
const timeoutForm = new RegExp(
  String.raw`\[Rank(\d+)\](?:Watchdogcaughtcollectiveoperationtimeout:|Work)${work}` +
    String.raw`(?:ran(?:for)?(\d+)milliseconds)?`,
)
const ncclCounters = String.raw`lastenqueuedNCCLwork:(-?\d+),lastcompletedNCCLwork:(-?\d+)`
const detected =
  String.raw`(?:TimeoutatNCCLwork|Exception\(eitheranerrorortimeout\)detectedbywatchdogatwork)` +
  String.raw`:(-?\d+),${ncclCounters}`
const oldStatusForm = new RegExp(String.raw`\[PG(\d+)(?:\(([^)]*)\))?Rank(\d+)\]${detected}`)
const pgForm = String.raw`\[PGID(\d+)PGGUID([^\]]*?)(?:\(([^)]*)\))?Rank(\d+)\]`
const statusForm = new RegExp(`${pgForm}${detected}`)
const startedWork = String.raw`(?:,laststartedwork:(-?\d+)(?:\(([^)]*)\))?)?`
const newCounters =
  String.raw`lastenqueuedwork:(-?\d+)${startedWork},` + String.raw`lastcompletedwork:(-?\d+)`
const failureForm = new RegExp(
  String.raw`${pgForm}failuredetectedbywatchdogatworksequenceid:(-?\d+)PGstatus:${newCounters}`,
)
const reflowedForm = new RegExp(String.raw`PGID(\d+):${newCounters}`)
const signalForm = new RegExp(
  String.raw`Receivedadumpsignaldueto\S*?from(thislocalrank|rank(\d+)).*?` +
    String.raw`LastenqueuedNCCLwork:(-?\d+),lastcompletedNCCLwork:(-?\d+)`,
)
const desyncForm = /\[(\d+)\]finishedcollective#(\d+),butdidn'tjoincollective#(\d+)/

/** Does a line look like the beginning of something that is read here? Cheap, for each line. */
export const isWatchdog = (line: string): boolean =>
  line.includes('[rank') ||
  line.includes('WorkNCCL') ||
  line.includes('ProcessGroupNCCL') ||
  line.includes('Watchdog caught') ||
  line.includes('last enqueued') ||
  line.includes("but didn't join") ||
  line.includes('dump signal')

// Torch printed uninitialised memory here for a while (2.2, 2.3).
const saneMax = 1e12

/** Reads one logical line, possibly joined from several. @returns undefined if it is none. */
export function watchdogLine(text: string): WatchdogLine | undefined {
  const squeezed = text.replace(/\s+/g, '')
  const prefix = /\[rank(\d+)\]:/.exec(squeezed)
  const globalRank = prefix === null ? undefined : Number(prefix[1])
  const count = (value: string | undefined): number | undefined =>
    value === undefined || value === '' ? undefined : Number(value)
  const done = (value: string, enqueued: number): number | undefined =>
    Number(value) > saneMax || Number(value) > enqueued ? undefined : Number(value)

  const timeout = timeoutForm.exec(squeezed)
  if (timeout !== null) {
    const [, rank, sequence, operation, elementsIn, elementsOut, timeoutMs, ranMs] = timeout
    return {
      is: 'timeout',
      globalRank,
      groupRank: Number(rank),
      sequence: count(sequence) ?? -1,
      operation,
      elementsIn: count(elementsIn),
      elementsOut: count(elementsOut),
      timeoutMs: Number(timeoutMs),
      ranMs: count(ranMs),
    }
  }
  const old = oldStatusForm.exec(squeezed)
  if (old !== null) {
    const [, pgId, description, rank, at, enqueued, completed] = old
    return {
      is: 'status',
      globalRank,
      groupRank: Number(rank),
      pgId: Number(pgId),
      group: undefined,
      description: description ?? '',
      work: Number(at),
      enqueued: Number(enqueued),
      started: undefined,
      startedOperation: undefined,
      completed: done(completed, Number(enqueued)),
    }
  }
  const status = statusForm.exec(squeezed)
  if (status !== null) {
    const [, pgId, group, description, rank, at, enqueued, completed] = status
    return {
      is: 'status',
      globalRank,
      groupRank: Number(rank),
      pgId: Number(pgId),
      group,
      description: description ?? '',
      work: Number(at),
      enqueued: Number(enqueued),
      started: undefined,
      startedOperation: undefined,
      completed: done(completed, Number(enqueued)),
    }
  }
  const failure = failureForm.exec(squeezed)
  if (failure !== null) {
    const [, pgId, group, description, rank, at, enqueued, started, operation, completed] = failure
    return {
      is: 'status',
      globalRank,
      groupRank: Number(rank),
      pgId: Number(pgId),
      group,
      description: description ?? '',
      work: Number(at),
      enqueued: Number(enqueued),
      started: count(started),
      startedOperation: operation,
      completed: done(completed, Number(enqueued)),
    }
  }
  const reflowed = reflowedForm.exec(squeezed)
  if (reflowed !== null) {
    const [, pgId, enqueued, started, operation, completed] = reflowed
    return {
      is: 'status',
      globalRank,
      groupRank: undefined,
      pgId: Number(pgId),
      group: undefined,
      description: '',
      work: undefined,
      enqueued: Number(enqueued),
      started: count(started),
      startedOperation: operation,
      completed: done(completed, Number(enqueued)),
    }
  }
  const signal = signalForm.exec(squeezed)
  if (signal !== null) {
    const [, , from, enqueued, completed] = signal
    return {
      is: 'signal',
      globalRank,
      from: count(from),
      enqueued: Number(enqueued),
      completed: Number(completed),
    }
  }
  const desync = desyncForm.exec(squeezed)
  if (desync === null) return undefined
  const [, rank, finished, missed] = desync
  return { is: 'desync', rank: Number(rank), finished: Number(finished), missed: Number(missed) }
}

/** What the watchdog said of a timeout, until the line that names its group comes. */
interface Pending {
  readonly line: TimeoutLine
  readonly source: Source
}

/** Collects the lines of all files; `finish` puts them into the normal form. */
export class WatchdogFacts {
  readonly lines: {
    readonly line: WatchdogLine
    readonly source: Source
    readonly rank: number
  }[] = []

  /** `fileRank`: the rank that the file's name gives, for lines that name none. */
  add(line: WatchdogLine, source: Source, fileRank: number | undefined): void {
    const rank =
      line.is === 'desync'
        ? line.rank
        : (line.globalRank ?? ('groupRank' in line ? line.groupRank : undefined) ?? fileRank ?? -1)
    this.lines.push({ line, source, rank })
  }

  finish(evidence: Evidence): void {
    const timeouts = new Map<number, Pending[]>()
    const seen = new Set<string>()
    for (const { line, source, rank } of this.lines) {
      evidence.facts++
      if (rank >= 0) evidence.ranks.add(rank)
      if (line.is === 'timeout') {
        timeouts.set(rank, [...(timeouts.get(rank) ?? []), { line, source }])
      }
    }
    for (const { line, source, rank } of this.lines) {
      if (line.is !== 'status') continue
      // A group of a rank's dump keeps its name; older lines know the local number only.
      const name = line.group ?? String(line.pgId)
      const communicator = communicatorOf(evidence, name)
      communicator.description ||= line.description
      communicator.backend ||= 'nccl'
      const standing = standingOf(communicator, rank >= 0 ? rank : lastTimeout(timeouts))
      standing.sources.push(source)
      const known = standing.enqueued
      if (known !== undefined && known !== line.enqueued && known >= 0) {
        evidence.contradictions.push(
          `rank ${rank} on ${name}: enqueued is ${known} and ${line.enqueued} (${source.file})`,
        )
      }
      standing.enqueued = Math.max(known ?? 0, line.enqueued)
      if (line.started !== undefined && line.started >= 0) standing.started = line.started
      standing.completed = greatest(standing.completed, line.completed)
      // A work that is watched has not completed, whatever was printed for "last completed".
      if (standing.completed === undefined && line.work !== undefined) {
        standing.completed = line.work - 1
      }
      for (const { line: timeout, source: where } of timeouts.get(standing.rank) ?? []) {
        if (line.work !== undefined && timeout.sequence !== line.work) continue
        seen.add(`${standing.rank}/${timeout.sequence}`)
        addCall(standing.calls, timeout, where)
      }
    }
    this.unnamed(evidence, timeouts, seen)
    this.signals(evidence)
  }

  /** Timeouts without a status line: their group is not named, so the common one is taken. */
  private unnamed(
    evidence: Evidence,
    timeouts: ReadonlyMap<number, readonly Pending[]>,
    seen: ReadonlySet<string>,
  ): void {
    const statuses = new Set(
      this.lines.flatMap(({ line }) =>
        line.is === 'status' ? [line.group ?? String(line.pgId)] : [],
      ),
    )
    const only = statuses.size === 1 ? [...statuses][0] : 'unnamed'
    for (const [rank, all] of timeouts) {
      for (const { line, source } of all) {
        if (seen.has(`${rank}/${line.sequence}`)) continue
        const communicator = communicatorOf(evidence, only)
        communicator.backend ||= 'nccl'
        const standing = standingOf(communicator, rank)
        standing.sources.push(source)
        standing.enqueued = Math.max(standing.enqueued ?? 0, line.sequence)
        standing.completed = greatest(standing.completed, line.sequence - 1)
        addCall(standing.calls, line, source)
      }
    }
    if (this.lines.some(({ line }) => line.is === 'desync')) return
    for (const communicator of evidence.communicators.values()) silent(evidence, communicator.name)
  }

  /** A rank that only heard of the timeout, with nothing open, never joined. */
  private signals(evidence: Evidence): void {
    const timedOut = new Set(
      this.lines.flatMap(({ line, rank }) => (line.is === 'timeout' ? [rank] : [])),
    )
    for (const { line, rank, source } of this.lines) {
      if (line.is === 'desync') {
        const says = `finished collective #${line.finished} and did not join #${line.missed}`
        evidence.signs.push({ rank, sign: 'never-joined', says, source })
      }
      if (line.is !== 'signal' || line.from === undefined || rank < 0) continue
      if (timedOut.has(rank) || line.enqueued !== line.completed) continue
      const all = `${line.completed} of ${line.enqueued} complete`
      const says = `has nothing open (${all}) while rank ${line.from} timed out`
      evidence.signs.push({ rank, sign: 'never-joined', says, source })
    }
  }
}

const lastTimeout = (timeouts: ReadonlyMap<number, readonly Pending[]>): number =>
  [...timeouts.keys()].at(-1) ?? 0

const greatest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b)

function addCall(calls: Map<number, Call>, line: TimeoutLine, source: Source): void {
  if (line.sequence < 0 || calls.has(line.sequence)) return
  calls.set(line.sequence, {
    sequence: line.sequence,
    kind: line.operation.toLowerCase(),
    dtype: '',
    shape: undefined,
    elements: line.elementsIn,
    completed: false,
    started: false,
    source,
  })
}

/**
 * All that speak stand at one operation and exactly one rank below them is silent: it is the one
 * that they wait for, or its log is missing. Only where nothing else says who belongs to the group.
 */
function silent(evidence: Evidence, name: string): void {
  const { members, standings } = communicatorOf(evidence, name)
  if (members !== undefined || evidence.dumped.size > 0 || standings.size < 3) return
  const ranks = [...standings.keys()]
  const firsts = new Set([...standings.values()].map(({ completed }) => completed))
  if (firsts.size > 1) return
  const absent = Array.from({ length: Math.max(...ranks) }, (_, rank) => rank).filter(
    (rank) => !standings.has(rank),
  )
  if (absent.length !== 1) return
  const [first] = standings.values()
  const source = first.sources[0]
  const says = `is silent, and all others wait in #${(first.completed ?? 0) + 1}`
  evidence.ranks.add(absent[0])
  evidence.signs.push({ rank: absent[0], sign: 'behind', says, source })
}
