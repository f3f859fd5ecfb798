// What a flight recorder would have seen of a run: every transfer of every rank in the order of its
// posting, and how far it came. Host rendezvous and compute kernels are not recorded, as in torch.

import type { Batch } from '../../spec/batch.ts'
import type { Dimension, TransferOperation } from '../../spec/operation.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Channel } from '../channels.ts'
import { entryAgo, entryBatch, entryOp, entryStarted } from '../rank-model.ts'
import { replay, type Trace } from '../replay.ts'
import type { Schedule } from '../schedule.ts'
import type { World } from '../world.ts'

/** One posted transfer of one rank. */
export interface RecordedTransfer {
  readonly channel: Channel
  readonly form: TransferOperation
  readonly step: number
  readonly shape: readonly number[]
  state: 'scheduled' | 'started' | 'completed'
}

export interface RecordedRun {
  readonly trace: Trace
  /** By rank, oldest first. */
  readonly ranks: readonly (readonly RecordedTransfer[])[]
}

/** Replays a schedule and records it. Errors as `replay`. */
export function recordRun(scenario: Scenario, schedule: Schedule): RecordedRun {
  const { pp } = scenario.topology
  const ranks = Array.from({ length: pp }, (): RecordedTransfer[] => [])
  /** Those not complete yet, by operation and step. */
  const open = ranks.map(() => new Map<string, RecordedTransfer[]>())
  const trace = replay(scenario, schedule, (world, state, dispatched) => {
    for (let rank = 0; rank < pp; rank++) look(world, state, dispatched, rank)
  })
  return { trace, ranks }

  function look(world: World, state: Int32Array, dispatched: number, rank: number): void {
    const { model } = world.ranks[rank]
    const local = world.rankState(state, 0, rank)
    const current = dispatched - 1 - local.rpc.filter((token) => token !== -2).length
    const present = new Map<string, number[]>()
    for (const entry of [...local.device, ...local.cpu]) {
      const { kind, channel } = model.operations[entryOp(entry)]
      // A thread's work becomes a post of its own when the thread comes to it.
      if (channel < 0 || (kind !== 'transfer' && !local.cpu.includes(entry))) continue
      const key = `${entryOp(entry)}/${current - entryAgo(entry)}`
      present.set(key, [...(present.get(key) ?? []), entry])
    }
    for (const [key, entries] of present) {
      const known = open[rank].get(key) ?? []
      while (known.length < entries.length) {
        const fresh = record(world, rank, entries[known.length], current)
        known.push(fresh)
        ranks[rank].push(fresh)
      }
      entries.forEach((entry, at) => {
        if (entryStarted(entry)) known[at].state = 'started'
      })
      while (known.length > entries.length) (known.shift() as RecordedTransfer).state = 'completed'
      open[rank].set(key, known)
    }
    for (const [key, known] of open[rank]) {
      if (present.has(key)) continue
      for (const each of known) each.state = 'completed'
      open[rank].delete(key)
    }
  }

  function record(world: World, rank: number, entry: number, current: number): RecordedTransfer {
    const operation = world.ranks[rank].model.operations[entryOp(entry)]
    const form = operation.form as TransferOperation
    const batch = world.numbered.batches[entryBatch(entry)]
    const drafts = scenario.topology.drafts
    return {
      channel: world.channels[operation.channel],
      form,
      step: current - entryAgo(entry),
      shape: form.shape.map((size) => sizeOf(size, batch, drafts)),
      state: 'scheduled',
    }
  }
}

const sizeOf = (size: Dimension, batch: Batch, drafts: number): number =>
  typeof size === 'number'
    ? size
    : size === 'R'
      ? batch.mask.length
      : size === 'K'
        ? drafts
        : drafts + 1
