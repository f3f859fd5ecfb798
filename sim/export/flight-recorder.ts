// A run of the simulator as flight-recorder dumps of version 2.10, one a rank, that PyTorch's own
// analyzer can load. Pickle of protocol 2 with opcodes that torch::jit::Pickler uses.

import type { RecordedRun, RecordedTransfer } from './transfers.ts'

/** A value that has a pickle. Objects become dicts. */
type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain }

export interface DumpOptions {
  /** Entries that the ring keeps, the newest ones; all of them by default. */
  readonly ring?: number
}

const dtypes = { int64: 'Long', int32: 'Int', bfloat16: 'BFloat16' } as const
/** Any fixed instant does: a run has an order and no times. */
const epochNs = 1_700_000_000

/** The dump of one rank as bytes. */
export const flightRecorderDump = (
  run: RecordedRun,
  rank: number,
  options: DumpOptions = {},
): Uint8Array => pickle(dumpOf(run, rank, options))

function dumpOf({ ranks, trace }: RecordedRun, rank: number, { ring }: DumpOptions): Plain {
  const { channels } = trace.world
  const groups = channels.filter(({ members }) => members.includes(rank))
  const sequences = new Map<
    number,
    { collective: number; pointToPoint: number; done: number; started: number }
  >()
  const of = (index: number) => {
    const known = sequences.get(index)
    if (known !== undefined) return known
    const fresh = { collective: 0, pointToPoint: 0, done: 0, started: 0 }
    sequences.set(index, fresh)
    return fresh
  }
  const entries: Plain[] = []
  ranks[rank].forEach((transfer, record) => {
    const { channel, form, state } = transfer
    // Gloo records no point-to-point.
    if (channel.pair && !channel.device) return
    const counter = of(channel.index)
    if (channel.pair) counter.pointToPoint++
    else counter.collective++
    const number = channel.pair ? counter.pointToPoint : counter.collective
    if (state !== 'scheduled') counter.started = Math.max(counter.started, number)
    if (state === 'completed') counter.done = Math.max(counter.done, number)
    const backend = channel.device ? 'nccl' : 'gloo'
    const sizes = [[...transfer.shape]]
    entries.push({
      record_id: record,
      pg_id: channel.index,
      process_group: [String(channel.index), descriptionOf(channel.communicator)],
      collective_seq_id: counter.collective,
      p2p_seq_id: counter.pointToPoint,
      op_id: record,
      profiling_name: `${backend}:${kindOf(transfer, rank)}`,
      time_created_ns: epochNs + record,
      input_sizes: sizes,
      input_dtypes: [dtypes[form.dtype]],
      output_sizes: sizes,
      output_dtypes: [dtypes[form.dtype]],
      // Gloo marks neither start nor end but `retired`.
      state: channel.device ? state : 'scheduled',
      time_discovered_started_ns: channel.device && state !== 'scheduled' ? epochNs : null,
      time_discovered_completed_ns: channel.device && state === 'completed' ? epochNs : null,
      retired: state === 'completed',
      timeout_ms: 600_000,
      is_p2p: channel.pair,
    })
  })
  const status: [string, Plain][] = groups.map(({ index, device, pair }) => {
    const { collective, pointToPoint, done, started } = of(index)
    const enqueued = pair ? pointToPoint : collective
    const counters = {
      last_enqueued_collective: enqueued || -1,
      last_started_collective: (device ? started : 0) || -1,
      last_completed_collective: done || -1,
    }
    return [String(index), counters]
  })
  const config: [string, Plain][] = groups.map(({ index, communicator, members }) => [
    String(index),
    { name: String(index), desc: descriptionOf(communicator), ranks: `[${members.join(', ')}]` },
  ])
  return {
    version: '2.10',
    comm_lib_version: '',
    pg_config: Object.fromEntries(config),
    pg_status: Object.fromEntries(status),
    entries: ring === undefined ? entries : entries.slice(-ring),
  }
}

const descriptionOf = (communicator: string): string =>
  communicator === 'token' ? 'pp_token' : `pp_${communicator}`

/** `broadcast`, `all_reduce`, `send 0->1`; ranks count within the group. */
function kindOf({ channel, form }: RecordedTransfer, rank: number): string {
  if (form.do === 'broadcast') return 'broadcast'
  if (form.do === 'collective') return 'all_reduce'
  const me = channel.members.indexOf(rank)
  const [arrow, name] = form.do === 'send' ? ['->', 'send'] : ['<-', 'recv']
  return `${name} ${me}${arrow}${1 - me}`
}

/** Pickle, protocol 2. */
export function pickle(value: Plain): Uint8Array {
  const bytes: number[] = [0x80, 2]
  const u32 = (number: number): void => {
    for (let shift = 0; shift < 32; shift += 8) bytes.push((number >>> shift) & 255)
  }
  const put = (each: Plain): void => {
    if (each === null) bytes.push(0x4e)
    else if (typeof each === 'boolean') bytes.push(each ? 0x88 : 0x89)
    else if (typeof each === 'number') {
      bytes.push(0x4a)
      u32(each)
    } else if (typeof each === 'string') {
      const text = encodeURIComponent(each).replace(/%(..)/g, (_, hex) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      )
      bytes.push(0x58)
      u32(text.length)
      for (let at = 0; at < text.length; at++) bytes.push(text.charCodeAt(at))
    } else if (Array.isArray(each)) {
      bytes.push(0x5d, 0x28)
      for (const item of each) put(item)
      bytes.push(0x65)
    } else {
      bytes.push(0x7d, 0x28)
      for (const [key, item] of Object.entries(each)) {
        put(key)
        put(item)
      }
      bytes.push(0x75)
    }
  }
  put(value)
  bytes.push(0x2e)
  return Uint8Array.from(bytes)
}
