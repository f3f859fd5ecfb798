// NCCL's RAS reports (since 2.24), text and JSON. Their counts are of launched operations, so an
// operation that hangs in its kernel looks well here; one snapshot of a live job may show a
// difference that is none a moment later.

import type { Evidence, Source } from './evidence.ts'
import { communicatorOf, standingOf } from './evidence.ts'

interface Group {
  readonly hash: string
  readonly operation: string
  readonly counts: { readonly ranks: number; readonly upTo: number }[]
  /** Ranks that the report lists, with the count under which they stand. */
  readonly listed: Map<number, number>
  readonly missing: number[]
}

/** Follows the lines of one text file. */
export class RasText {
  private readonly evidence: Evidence
  private group: Group | undefined
  private upTo: number | undefined
  private inMissing = false
  private source: Source = { file: '', record: '' }

  constructor(evidence: Evidence) {
    this.evidence = evidence
  }

  line(text: string, source: Source): void {
    this.source = source
    const head = /^#(\d+-\d+) \((\w+)\) (MISMATCH|INCOMPLETE)/.exec(text.trim())
    if (head !== null) {
      this.finish()
      this.group = { hash: head[2], operation: '', counts: [], listed: new Map(), missing: [] }
      this.evidence.facts++
      return
    }
    const { group } = this
    if (group === undefined) {
      this.outside(text, source)
      return
    }
    const different = /ranks have different (\w+) operation counts/.exec(text)
    if (different !== null) this.group = { ...group, operation: different[1] }
    const many = /^\s+(\d+) ranks? (?:have|has) launched up to operation (\d+)/.exec(text)
    if (many !== null) {
      this.upTo = Number(many[2])
      group.counts.push({ ranks: Number(many[1]), upTo: this.upTo })
      return
    }
    if (/(\d+) ranks? (?:have|has) not launched any operations/.test(text)) this.upTo = 0
    const own = /^\s+Rank (\d+) has launched up to operation (\d+)/.exec(text)
    if (own !== null) {
      group.listed.set(Number(own[1]), Number(own[2]))
      return
    }
    const never = /^\s+Rank (\d+) has not launched any operations/.exec(text)
    if (never !== null) group.listed.set(Number(never[1]), 0)
    if (/ranks? have status /.test(text)) this.upTo = undefined
    if (/Missing communicator data/.test(text)) this.inMissing = true
    const missing = /The missing ranks?: ([\d, ]+)/.exec(text)
    if (missing !== null) group.missing.push(...missing[1].split(',').map(Number))
    const row = /^\s+Rank (\d+) -- GPU/.exec(text)
    if (row === null) return
    if (this.inMissing) group.missing.push(Number(row[1]))
    else if (this.upTo !== undefined) group.listed.set(Number(row[1]), this.upTo)
  }

  /** A summary row says only that all is well, which for NCCL means: launched alike. */
  private outside(text: string, source: Source): void {
    const row = /^\s+\d+(?:\s+[\d-]+){5}\s+(\w+)\s+([A-Z,]+)\s*$/.exec(text)
    const dead = /considered dead|PEER_DEAD/.test(text)
    if (row !== null || dead) {
      this.evidence.facts++
      this.evidence.notes.push({ text: text.trim().replace(/\s+/g, ' '), source })
    }
  }

  finish(): void {
    const { group, evidence, source } = this
    this.group = undefined
    this.upTo = undefined
    this.inMissing = false
    if (group === undefined) return
    addGroup(evidence, group, source)
  }
}

function addGroup(evidence: Evidence, group: Group, source: Source): void {
  const communicator = communicatorOf(evidence, group.hash)
  communicator.description ||= group.operation
  communicator.backend = 'nccl'
  for (const rank of group.missing) {
    evidence.ranks.add(rank)
    const says = `gives no communicator data to NCCL RAS (${group.hash})`
    evidence.signs.push({ rank, sign: 'dead', says, source })
  }
  const most = Math.max(-1, ...group.counts.map(({ upTo }) => upTo), ...group.listed.values())
  for (const [rank, upTo] of group.listed) {
    evidence.ranks.add(rank)
    const standing = standingOf(communicator, rank)
    standing.enqueued = upTo
    standing.sources.push(source)
    if (upTo >= most) continue
    const what = group.operation === '' ? 'collective' : group.operation
    const says = `has launched ${what} up to #${upTo}, others up to #${most}`
    evidence.signs.push({ rank, sign: 'behind', says, source })
  }
  const behind = group.counts.filter(({ upTo }) => upTo < most)
  const unlisted = behind.reduce((sum, { ranks }) => sum + ranks, 0)
  const named = [...group.listed.values()].filter((upTo) => upTo < most).length
  if (unlisted > named) {
    const ahead = [...group.listed].filter(([, upTo]) => upTo === most).map(([rank]) => rank)
    const text = `${unlisted} ranks are behind #${most} and not listed; ahead: ${ahead.join(', ')}`
    evidence.notes.push({ text, source })
  }
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const isRasJson = (value: unknown): boolean =>
  field(value, 'communicators') !== undefined ||
  (field(value, 'group') !== undefined && field(value, 'event') !== undefined)

/** The JSON of `SET FORMAT json` (2.28.7), or one event of monitor mode. */
export function mergeRasJson(evidence: Evidence, value: unknown, file: string): void {
  evidence.facts++
  const source: Source = { file, record: 'communicators' }
  const event = field(value, 'event')
  if (typeof event === 'string') {
    const peer = field(value, 'peer')
    const who = `process ${field(peer, 'pid')} on node ${field(peer, 'host')}`
    evidence.notes.push({ text: `${event}: ${who}`, source })
    return
  }
  for (const communicator of list(field(value, 'communicators'))) {
    const hash = String(field(communicator, 'hash'))
    const missing: number[] = []
    const perKind = new Map<string, Map<number, number>>()
    for (const row of list(field(communicator, 'ranks'))) {
      const rank = Number(field(row, 'rank'))
      if (!Number.isSafeInteger(rank)) continue
      evidence.ranks.add(rank)
      standingOf(communicatorOf(evidence, hash), rank).sources.push(source)
      const counts = field(row, 'collective_counts')
      for (const [kind, count] of Object.entries(counts ?? {})) {
        const of = perKind.get(kind) ?? new Map<number, number>()
        perKind.set(kind, of.set(rank, Number(count)))
      }
    }
    for (const row of list(field(communicator, 'missing_ranks'))) {
      const rank = Number(field(row, 'rank'))
      if (Number.isSafeInteger(rank)) missing.push(rank)
    }
    const base = { hash, counts: [], missing: [] }
    for (const [kind, listed] of perKind) {
      if (new Set(listed.values()).size > 1)
        addGroup(evidence, { ...base, operation: kind, listed }, source)
    }
    addGroup(evidence, { ...base, operation: '', listed: new Map(), missing }, source)
    const size = Number(field(communicator, 'size'))
    if (Number.isSafeInteger(size) && size > 0 && size <= 100_000) {
      communicatorOf(evidence, hash).members = Array.from({ length: size }, (_, rank) => rank)
    }
  }
}
