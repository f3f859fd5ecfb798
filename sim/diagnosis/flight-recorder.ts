// One flight-recorder dump, from a pickle or from JSON, in one form for every version 1.x to 2.10.
// Unknown keys are left alone and missing ones stay unknown: a reader must not guess.
// Schema: torch/csrc/distributed/c10d/FlightRecorder*.hpp; what differs is told where it is read.

import { fail } from '../../spec/error.ts'
import { PickleDict } from './pickle.ts'

/** One recorded operation. */
export interface FlightEntry {
  readonly record: number
  /** Local to the rank; -1 when the dump is too old to say. */
  readonly pgId: number
  readonly group: string
  readonly description: string
  /** Of a point-to-point operation this is the number of the last collective before it. */
  readonly sequence: number
  readonly pointToPoint: boolean
  /** `broadcast`, `all_reduce`, `send 0->3`: without the backend's prefix. */
  readonly kind: string
  readonly backend: string
  /** Shapes and element types of the inputs, then of the outputs. */
  readonly inputSizes: readonly (readonly number[])[]
  readonly inputDtypes: readonly string[]
  readonly outputSizes: readonly (readonly number[])[]
  readonly started: boolean
  readonly completed: boolean
  readonly frames: readonly string[]
}

export interface FlightDump {
  readonly version: string
  readonly groups: readonly FlightGroup[]
  readonly statuses: readonly FlightStatus[]
  readonly entries: readonly FlightEntry[]
}

export interface FlightGroup {
  readonly name: string
  readonly description: string
  readonly ranks: readonly number[]
}

export interface FlightStatus {
  readonly pgId: number
  readonly enqueued: number
  readonly started: number
  readonly completed: number
}

/** A dict of a pickle or an object of JSON. */
const field = (value: unknown, key: string): unknown => {
  if (value instanceof PickleDict) return value.get(key)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

const pairs = (value: unknown): [string, unknown][] => {
  if (value instanceof PickleDict) {
    const found: [string, unknown][] = []
    for (let i = 0; i + 1 < value.items.length; i += 2) {
      found.push([String(value.items[i]), value.items[i + 1]])
    }
    return found
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value)
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A number, also one that JSON wrote as text; `otherwise` for anything else. */
const number = (value: unknown, otherwise: number): number => {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : otherwise
}

/**
 * @param value what `readPickle` or `JSON.parse` gave.
 * @throws PpcheckError PPC502 if it is no dump of a flight recorder.
 */
export function flightDump(value: unknown): FlightDump {
  // Before 1.1 the pickle was the bare list of entries.
  const bare = Array.isArray(value)
  const known = ['version', 'entries', 'pg_config', 'pg_status']
  if (!bare && !known.some((key) => field(value, key) !== undefined)) {
    fail('PPC502', 'the file is no flight-recorder dump: it has neither a version nor entries')
  }
  const groups = pairs(field(value, 'pg_config')).map(([key, config]) => groupFrom(key, config))
  const statuses = pairs(field(value, 'pg_status')).map(([key, status]) => ({
    pgId: number(key, -1),
    enqueued: number(field(status, 'last_enqueued_collective'), -1),
    started: number(field(status, 'last_started_collective'), -1),
    completed: number(field(status, 'last_completed_collective'), -1),
  }))
  const raw = bare ? value : list(field(value, 'entries'))
  const entries: FlightEntry[] = []
  for (const each of raw) {
    if (pairs(each).length > 0) entries.push(entryFrom(each))
  }
  return { version: bare ? '1.0' : text(field(value, 'version')), groups, statuses, entries }
}

/** Up to 1.4 `{pg_id: [ranks]}`, later `{name: {name, desc, ranks: "[0, 1]"}}`. */
function groupFrom(key: string, config: unknown): FlightGroup {
  if (Array.isArray(config)) {
    return { name: key, description: '', ranks: config.map((each) => number(each, -1)) }
  }
  const ranks = field(config, 'ranks')
  const numbers = Array.isArray(ranks)
    ? ranks.map((each) => number(each, -1))
    : (text(ranks).match(/\d{1,9}/g) ?? []).map(Number)
  return { name: key, description: text(field(config, 'desc')), ranks: numbers }
}

function entryFrom(entry: unknown): FlightEntry {
  const [group, description] = list(field(entry, 'process_group')).map(text)
  const profiled = text(field(entry, 'profiling_name'))
  const cut = profiled.indexOf(':')
  const backend = cut < 0 ? '' : profiled.slice(0, cut)
  const kind = profiled.slice(cut + 1)
  const state = text(field(entry, 'state'))
  const pgId = number(field(entry, 'pg_id'), -1)
  const completedAt = number(field(entry, 'time_discovered_completed_ns'), 0)
  // NCCL retires what timed out as well; Gloo marks nothing but `retired`.
  const retired = field(entry, 'retired') === true && backend === 'gloo'
  const completed = state === 'completed' || completedAt > 0 || retired
  const startedAt = number(field(entry, 'time_discovered_started_ns'), 0)
  return {
    record: number(field(entry, 'record_id'), -1),
    pgId,
    group: group ?? String(pgId),
    description: description ?? '',
    sequence: number(field(entry, 'collective_seq_id') ?? field(entry, 'seq_id'), -1),
    pointToPoint: field(entry, 'is_p2p') === true || /^(send|recv)\b/.test(kind),
    kind,
    backend,
    inputSizes: shapes(field(entry, 'input_sizes')),
    inputDtypes: dtypes(field(entry, 'input_dtypes')),
    outputSizes: shapes(field(entry, 'output_sizes')),
    started: completed || state === 'started' || startedAt > 0,
    completed,
    frames: list(field(entry, 'frames')).map((frame) => text(field(frame, 'name'))),
  }
}

const shapes = (value: unknown): number[][] =>
  list(value).map((shape) => list(shape).map((each) => number(each, -1)))

const dtypes = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(text) : typeof value === 'string' ? [value] : []
