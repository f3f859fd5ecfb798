// Who waits for whom in a state: the wait-for graph of hosts, streams, collectives and the engine.
// It is read off the final state alone, so it says the same whichever run led there.

import { channelName } from './channels.ts'
import { entryAgo, entryOp, entryStarted, flag } from './rank-model.ts'
import type { CompiledOperation } from './rank-program.ts'
import type { World } from './world.ts'

/** Something that cannot move, and why. */
export interface Waiter {
  /** Unique name: `host 2`, `work 2 drafts 3`, `engine`. */
  readonly id: string
  readonly rank: number | undefined
  /** What it is, in words: `drafts of step 3 on rank 2`. */
  readonly what: string
  /** Why it cannot move, in words. */
  readonly why: string
  readonly waitsFor: readonly string[]
  /** A started collective: it spins on the device and occupies a place. */
  readonly spins: boolean
}

/** The wait-for graph of a state. `dispatched`: steps that the engine has sent so far. */
export function waitersOf(
  world: World,
  state: Int32Array,
  dispatched: number,
): ReadonlyMap<string, Waiter> {
  const found = new Map<string, Waiter>()
  const add = (waiter: Waiter) => found.set(waiter.id, waiter)
  const { residentCollectives, launchOrder } = world.scenario.device

  for (let rank = 0; rank < world.pp; rank++) {
    const { model } = world.ranks[rank]
    const local = world.rankState(state, 0, rank)
    const current = dispatched - 1 - local.rpc.filter((token) => token !== -2).length
    const stepOf = (entry: number): number => current - entryAgo(entry)
    const idOf = (entry: number): string => workId(world, rank, entry, stepOf(entry))
    const list = [...local.device, ...local.cpu]
    const outstanding = (ops: readonly number[], ago: number): string[] =>
      list.filter((e) => entryAgo(e) === ago && ops.includes(entryOp(e))).map(idOf)

    add(hostWaiter(rank))
    local.device.forEach((entry, position) => {
      add(deviceWaiter(rank, entry, position))
    })
    local.cpu.forEach((entry, position) => {
      add(cpuWaiter(rank, entry, position))
    })

    function hostWaiter(_rank: number): Waiter {
      const base = { id: `host ${rank}`, rank, spins: false }
      const at = model.standsAt(local)
      const what = `the host of rank ${rank}`
      if (at < 0) {
        return local.rpc.length > 0
          ? { ...base, what, ...fullQueue() }
          : { ...base, what, why: 'has nothing to do until the engine calls', waitsFor: ['engine'] }
      }
      const operation = model.operations[at]
      const form = operation.form
      if (form.do === 'rendezvous') {
        const [a, b] = world.meetings[operation.channel]
        const peer = a === rank ? b : a
        return {
          ...base,
          what,
          why: `waits for the host of rank ${peer} to meet for ${form.name}`,
          waitsFor: [`host ${peer}`],
        }
      }
      const ago =
        form.do === 'consume' ? (local.slots[0]?.ago ?? operation.stepsAgo) : operation.waitsAgo
      const targets = outstanding(operation.waitsFor, ago)
      if (targets.length > 0) {
        const name = form.do === 'consume' ? form.after : targetName(operation)
        const why = `waits for ${name} of step ${current - ago}`
        return { ...base, what, why, waitsFor: targets }
      }
      const spinning = local.device.filter(entryStarted)
      return {
        ...base,
        what,
        why: `stands at ${operation.name} of step ${current}`,
        waitsFor: spinning.map(idOf),
      }
    }

    /** A host that does not take a call that is there: its launch queue is full. */
    function fullQueue(): Pick<Waiter, 'why' | 'waitsFor'> {
      if (list.length === 0) return { why: 'has a call to take', waitsFor: [] }
      const oldest = list.reduce((a, b) => (entryAgo(b) > entryAgo(a) ? b : a))
      return { why: 'blocks: its launch queue is full', waitsFor: [idOf(oldest)] }
    }

    function targetName(operation: CompiledOperation): string {
      const [target] = operation.waitsFor
      return model.operations[target]?.name ?? operation.name
    }

    function deviceWaiter(_rank: number, entry: number, position: number): Waiter {
      const operation = model.operations[entryOp(entry)]
      const step = stepOf(entry)
      const what = `${operation.name} of step ${step} on rank ${rank}`
      const base = { id: idOf(entry), rank, what, spins: entryStarted(entry) }
      if (entryStarted(entry)) return { ...base, ...partnersOf(operation.channel, true) }
      const ahead = local.device
        .slice(0, position)
        .find((e) => model.operations[entryOp(e)].stream === operation.stream)
      if (ahead !== undefined) {
        const first = model.operations[entryOp(ahead)].name
        const stream = model.streams[operation.stream]
        return {
          ...base,
          why: `stands behind ${first} on stream ${stream}`,
          waitsFor: [idOf(ahead)],
        }
      }
      const spinning = local.device.filter(entryStarted)
      if (operation.kind === 'transfer') {
        const before = local.device
          .slice(0, position)
          .filter((e) => model.operations[entryOp(e)].kind === 'transfer')
        const same = before.filter((e) => model.operations[entryOp(e)].queue === operation.queue)
        if (same.length > 0) {
          return {
            ...base,
            why: 'stands behind earlier work of its communicator',
            waitsFor: same.map(idOf),
          }
        }
        if (spinning.length >= residentCollectives) {
          const places =
            residentCollectives === 1
              ? 'the only place of its device is'
              : `all ${residentCollectives} places of its device are`
          return {
            ...base,
            why: `cannot start: ${places} taken`,
            waitsFor: spinning.map(idOf),
          }
        }
        const earlier = launchOrder === 'serial' ? before : before.filter((e) => !entryStarted(e))
        if (launchOrder !== 'free' && earlier.length > 0) {
          return {
            ...base,
            why: 'must start after what was launched before it',
            waitsFor: earlier.map(idOf),
          }
        }
      }
      const queue = model.hardwareQueueOf[operation.stream]
      const inQueue = local.device
        .slice(0, position)
        .filter(
          (e) =>
            queue >= 0 &&
            model.hardwareQueueOf[model.operations[entryOp(e)].stream] === queue &&
            !entryStarted(e),
        )
      if (inQueue.length > 0) {
        const { name } = model.operations[entryOp(inQueue[0])]
        return {
          ...base,
          why: `stands behind ${name} in a hardware queue that they share`,
          waitsFor: inQueue.map(idOf),
        }
      }
      if (operation.isDraft && local.flags & flag.draftStalled) {
        return { ...base, why: 'has stalled for ever (a fault)', waitsFor: [] }
      }
      if (operation.kind === 'compute' && spinning.length > 0) {
        return {
          ...base,
          why: 'is a full graph and needs a device without spinning collectives',
          waitsFor: spinning.map(idOf),
        }
      }
      const ago = operation.kind === 'consume' ? 0 : operation.waitsAgo
      return {
        ...base,
        why: `waits for ${targetName(operation)}`,
        waitsFor: outstanding(operation.waitsFor, entryAgo(entry) + ago),
      }
    }

    function cpuWaiter(_rank: number, entry: number, position: number): Waiter {
      const operation = model.operations[entryOp(entry)]
      const base = {
        id: idOf(entry),
        rank,
        what: `${operation.name} of step ${stepOf(entry)} on rank ${rank}`,
        spins: false,
      }
      const ahead = local.cpu
        .slice(0, position)
        .find((e) => model.operations[entryOp(e)].queue === operation.queue)
      if (ahead !== undefined) {
        const first = model.operations[entryOp(ahead)].name
        return { ...base, why: `stands behind ${first} in its FIFO`, waitsFor: [idOf(ahead)] }
      }
      return { ...base, ...partnersOf(operation.channel, false) }
    }

    /** A collective that is under way waits for every member that has not come. */
    function partnersOf(channel: number, device: boolean): Pick<Waiter, 'why' | 'waitsFor'> {
      const missing: string[] = []
      const ranks: number[] = []
      for (const other of world.channels[channel].members) {
        if (other === rank) continue
        const target = standingOf(other, channel, device)
        if (target === undefined) continue
        missing.push(target)
        ranks.push(other)
      }
      const who = ranks.length === 1 ? `rank ${ranks[0]}` : `ranks ${ranks.join(', ')}`
      const where = channelName(world.channels[channel])
      const why = ranks.length > 0 ? `waits for ${who} on ${where}` : `does not match on ${where}`
      return { why, waitsFor: missing }
    }

    /** What a member that has not come is held up by; undefined if it has come. */
    function standingOf(other: number, channel: number, device: boolean): string | undefined {
      const { model: theirs } = world.ranks[other]
      const their = world.rankState(state, 0, other)
      const queue = device ? their.device : their.cpu
      const entry = queue.find((e) => theirs.operations[entryOp(e)].channel === channel)
      if (entry === undefined) return `host ${other}`
      if (device ? entryStarted(entry) : true) return undefined
      const theirCurrent = dispatched - 1 - their.rpc.filter((token) => token !== -2).length
      return workId(world, other, entry, theirCurrent - entryAgo(entry))
    }
  }
  add(engineWaiter(world, state, dispatched, found))
  return found
}

/** Names a piece of work; where a program uses a name twice, the position tells them apart. */
function workId(world: World, rank: number, entry: number, step: number): string {
  const { operations } = world.ranks[rank].model
  const { name, index, kind } = operations[entryOp(entry)]
  const isUnique = operations.every((o) => o.name !== name || o.index === index)
  return `work ${rank} ${name} ${step}${isUnique || kind === 'reply' ? '' : ` #${index}`}`
}

function engineWaiter(
  world: World,
  state: Int32Array,
  dispatched: number,
  found: ReadonlyMap<string, Waiter>,
): Waiter {
  const inFlight = world.inFlight(state[0])
  const oldest = dispatched - inFlight
  const steps = inFlight === 1 ? '1 step' : `${inFlight} steps`
  const base = { id: 'engine', rank: undefined, what: 'the engine', spins: false }
  if (inFlight === 0) return { ...base, why: 'is idle', waitsFor: [] }
  const replies = world.replyRanks.map((rank) => `work ${rank} reply ${oldest}`)
  const targets = replies.map((id, i) => (found.has(id) ? id : `host ${world.replyRanks[i]}`))
  return {
    ...base,
    why: `has ${steps} in flight and waits for step ${oldest}`,
    waitsFor: targets,
  }
}

/**
 * The shortest cycle of waiters, preferring one through a spinning collective.
 * @returns waiters in order, each waiting for the next and the last for the first; empty if none.
 */
export function waitForCycle(waiters: ReadonlyMap<string, Waiter>): readonly Waiter[] {
  let best: Waiter[] = []
  const starts = [...waiters.values()].sort((a, b) => Number(b.spins) - Number(a.spins))
  for (const start of starts) {
    const cycle = shortestCycleFrom(waiters, start)
    if (cycle.length > 0 && (best.length === 0 || cycle.length < best.length)) best = cycle
    if (best.length > 0 && !start.spins) break
  }
  return best
}

function shortestCycleFrom(waiters: ReadonlyMap<string, Waiter>, start: Waiter): Waiter[] {
  const cameFrom = new Map<string, string>()
  const queue = [start.id]
  for (let head = 0; head < queue.length; head++) {
    const waiter = waiters.get(queue[head])
    for (const target of waiter?.waitsFor ?? []) {
      if (target === start.id) {
        const ids = [queue[head]]
        while (ids[0] !== start.id) ids.unshift(cameFrom.get(ids[0]) as string)
        return ids.map((id) => waiters.get(id) as Waiter)
      }
      if (cameFrom.has(target) || !waiters.has(target)) continue
      cameFrom.set(target, queue[head])
      queue.push(target)
    }
  }
  return []
}
