// Which events of a rank depend on each other, derived from the rank's own transition rules: for
// every configuration of stream heads (and every host state beside them) each pair of enabled
// events is tried in both orders. A pair that disables, changes or judges differently is dependent.
// Nothing is declared by hand. Why heads suffice: everything started is the head of its stream, and
// work behind a head can only disable, never enable, what this rank may do next.

import { InternalError } from '../../spec/error.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Finding, RankModel, RankState } from '../rank-model.ts'
import { rpcIdle } from '../rank-model.ts'
import type { CompiledOperation } from '../rank-program.ts'

/** For each event of a rank: the bit set of its events that do not commute with it. */
export type Dependence = Int32Array

const startedBit = 1
const agoShift = 8
const opShift = 16

/** The pseudo event "an RPC arrives", which is checked for commutation like any other. */
const rpcEvent = -1

/**
 * Derives which events of a rank's device depend on each other, the host being at rest.
 * @param ignored events that the scenario never offers (faults that it does not have) or that leave
 *   the state as it is (a poll that misses).
 */
export const deriveAmongDevice = (
  model: RankModel,
  ignored: number,
  device: Scenario['device'],
): Dependence => derive(model, ignored, deviceConfigurations(model, device))

/**
 * Derives which events of a rank's device depend on its host. One head is enough beside the host:
 * what else is outstanding can only disable either of the two. With one head no rule reads how many
 * places there are or in which order work was launched, so the result is the same for all devices.
 */
export const deriveBesideHost = (model: RankModel, ignored: number): Dependence =>
  derive(model, ignored, hostConfigurations(model))

/** Both together. */
export const union = (a: Dependence, b: Dependence): Dependence =>
  a.map((bits, event) => bits | b[event])

function derive(
  model: RankModel,
  ignored: number,
  configurations: Iterable<RankState>,
): Dependence {
  const dependence = new Int32Array(model.events.count)
  for (const state of configurations) check(model, state, ~ignored, dependence)
  return dependence
}

function check(model: RankModel, state: RankState, relevant: number, dependence: Dependence): void {
  const events: number[] = []
  const mask = model.enabled(state) & relevant
  for (let bits = mask; bits !== 0; bits &= bits - 1) events.push(31 - Math.clz32(bits & -bits))
  events.push(rpcEvent)
  for (let i = 0; i < events.length; i++) {
    for (let j = i + 1; j < events.length; j++) {
      const [a, b] = [events[i], events[j]]
      if (a !== rpcEvent && b !== rpcEvent && (dependence[a] & (1 << b)) !== 0) continue
      if (commutes(model, state, a, b, relevant)) continue
      if (a !== rpcEvent) dependence[a] |= b === rpcEvent ? 0 : 1 << b
      if (b !== rpcEvent) dependence[b] |= a === rpcEvent ? 0 : 1 << a
      if (a === rpcEvent || b === rpcEvent) {
        throw new InternalError(
          `an arriving RPC does not commute with event ${a === rpcEvent ? b : a}`,
        )
      }
    }
  }
}

function commutes(
  model: RankModel,
  state: RankState,
  a: number,
  b: number,
  relevant: number,
): boolean {
  const first = inOrder(model, state, a, b, relevant)
  const second = inOrder(model, state, b, a, relevant)
  return first !== undefined && first === second
}

/** The outcome of two events in this order, as text; undefined if the first disables the second. */
function inOrder(
  model: RankModel,
  state: RankState,
  first: number,
  second: number,
  relevant: number,
): string | undefined {
  const found: Finding[] = []
  const between = perform(model, state, first, found)
  const open = model.enabled(between) & relevant
  if (second !== rpcEvent && (open & (1 << second)) === 0) return undefined
  const after = perform(model, between, second, found)
  return `${model.key(after)} ${found.map((finding) => finding.text).sort()}`
}

const perform = (model: RankModel, state: RankState, event: number, found: Finding[]): RankState =>
  event === rpcEvent
    ? model.dispatch(state, model.program.idle.length > 0 ? rpcIdle : 0)
    : model.apply(state, event, found)

interface Candidate {
  readonly fifo: number
  readonly operation: CompiledOperation
  /** Behaves like another one, except towards a consumption that looks for it by name. */
  readonly isTwin: boolean
}

/** One operation that can stand at the head of a FIFO, for each that behaves differently. */
function headsOf(model: RankModel): Candidate[] {
  const found: Candidate[] = []
  const shapes = new Set<string>()
  for (const operation of model.operations) {
    const { kind, form, stream, queue, channel, isDraft, onCpu } = operation
    const fifo = kind === 'transfer' && onCpu ? 64 + queue : stream
    if (fifo < 0 || kind === 'wait' || kind === 'host') continue
    const buffers = 'reads' in form || 'writes' in form ? JSON.stringify(form) : ''
    const exclusive = form.do === 'launch' && form.exclusive === true
    const shape = [kind, fifo, queue, channel, isDraft, exclusive, buffers].join('/')
    const isTwin = shapes.has(shape)
    if (isTwin && kind !== 'transfer' && kind !== 'consume') continue
    shapes.add(shape)
    found.push({ fifo, operation, isTwin })
  }
  return found
}

/** Twins matter only where something that is consumed stands beside them. */
const matters = (chosen: readonly Candidate[]): boolean =>
  !chosen.some(({ isTwin, operation }) => isTwin && operation.kind !== 'consume') ||
  chosen.some(({ operation }) => operation.kind === 'consume')

/** All device configurations with the host at rest. */
function* deviceConfigurations(model: RankModel, device: Scenario['device']): Generator<RankState> {
  const residents = device.residentCollectives
  const heads = headsOf(model)
  const orders = orderMatters(heads, device) ? permutations : asListed
  const fifos = [...new Set(heads.map((head) => head.fifo))]
  const largest = Math.min(fifos.length, Math.max(2, residents + 1))
  for (const subset of subsetsUpTo(fifos, largest)) {
    for (const chosen of productOf(subset.map((f) => heads.filter((h) => h.fifo === f)))) {
      if (!matters(chosen)) continue
      for (const ordered of orders(chosen.map((head) => head.operation))) {
        for (const agos of agesOf(ordered)) {
          for (const flags of startedFlags(ordered, residents)) {
            yield configuration(model, 0, ordered, agos, flags, [])
          }
        }
      }
    }
  }
}

/** Every host state beside every single head. */
function* hostConfigurations(model: RankModel): Generator<RankState> {
  const heads = headsOf(model)
  const offsets = stepOffsets(model)
  for (let host = 0; host < model.table.states.length; host++) {
    yield configuration(model, host, [], [], [])
    for (const { operation } of heads) {
      for (const ago of offsets) {
        if (!canBeOutstanding(model, host, operation, ago)) continue
        for (const flags of startedFlags([operation], 1)) {
          yield configuration(model, host, [operation], [ago], flags)
        }
      }
    }
  }
}

/**
 * Ages of the heads: as they are launched, and, beside a consumption, all transfers of the very
 * step that is consumed, because adopting looks at what has arrived for that step.
 */
function agesOf(operations: readonly CompiledOperation[]): number[][] {
  const launched = operations.map((operation) => operation.stepsAgo)
  const consumed = operations.find(({ kind }) => kind === 'consume')
  if (consumed === undefined) return [launched]
  return [launched, operations.map(() => consumed.stepsAgo)]
}

/** Ages at which an operation can make a difference: now, one step ago, and all that are named. */
const stepOffsets = (model: RankModel): readonly number[] => [
  ...new Set([0, 1, ...model.operations.flatMap(({ waitsAgo, stepsAgo }) => [waitsAgo, stepsAgo])]),
]

/** Work of the current step is outstanding only if the host has already gone past it. */
function canBeOutstanding(
  model: RankModel,
  host: number,
  operation: CompiledOperation,
  ago: number,
): boolean {
  if (operation.kind === 'consume' && ago < operation.stepsAgo) return false
  if (ago > 0) return true
  const { value } = model.table.states[host]
  if (value === 'await-execute') return true
  if (value === 'await-sample') return operation.index < model.program.execute.length
  return operation.index < model.standsAt({ ...model.initial, host })
}

/**
 * What must stand behind a transfer of an earlier step: all that the same program posts after it
 * into the same FIFO whenever it posts the transfer itself.
 */
function followersOf(model: RankModel, first: CompiledOperation): CompiledOperation[] {
  if (first.kind !== 'transfer') return []
  const { execute, sample } = model.program
  const ends = [execute.length, execute.length + sample.length]
  const end = ends.find((position) => first.index < position) ?? 0
  const facts = first.form.when ?? []
  return model.operations.filter(
    ({ index, kind, queue, onCpu, stepsAgo, form }) =>
      index > first.index &&
      index < end &&
      kind === 'transfer' &&
      queue === first.queue &&
      onCpu === first.onCpu &&
      stepsAgo === first.stepsAgo &&
      (form.when ?? []).every((fact) => facts.includes(fact)),
  )
}

function configuration(
  model: RankModel,
  host: number,
  operations: readonly CompiledOperation[],
  agos: readonly number[],
  started: readonly boolean[],
  rpc: readonly number[] = [0],
): RankState {
  const device: number[] = []
  const cpu: number[] = []
  operations.forEach((operation, i) => {
    const entry =
      (operation.index << opShift) | (agos[i] << agoShift) | (started[i] ? startedBit : 0)
    const onCpu = operation.kind === 'transfer' && operation.onCpu
    const fifo = onCpu ? cpu : device
    fifo.push(entry)
    if (agos[i] === 0) return
    for (const { index } of followersOf(model, operation)) {
      fifo.push((index << opShift) | (agos[i] << agoShift))
    }
  })
  const slots = [{ op: -1, ago: pendingFor(model, host), batch: 0, bits: 0 }]
  const state = { ...model.initial, host, device, cpu, rpc: [...rpc], slots }
  return withArrivals(model, state, operations, started)
}

/** The age of the pending receive that the operation where the host stands is about. */
function pendingFor(model: RankModel, host: number): number {
  const { execute, sample, pp } = model.program
  const here = model.operations[model.standsAt({ ...model.initial, host })]
  const isFlush = here !== undefined && here.index >= execute.length + sample.length
  return here !== undefined && (here.stepsAgo > 0 || isFlush) ? here.stepsAgo : pp
}

/** With eager sends, what every started receive takes has arrived: only then it can complete. */
function withArrivals(
  model: RankModel,
  from: RankState,
  operations: readonly CompiledOperation[],
  started: readonly boolean[],
): RankState {
  let state = from
  operations.forEach((operation, i) => {
    const sender = started[i] ? model.arrivesFrom(operation) : -1
    if (sender < 0) return
    const { channel } = operation
    const event = model.events.match + model.channels.indexOf(channel)
    const head = model.head(state, channel)
    state = model.apply(state, event, [], { bits: 0, head, from: sender })
  })
  return state
}

function* startedFlags(
  operations: readonly CompiledOperation[],
  residents: number,
): Generator<boolean[]> {
  const count = 1 << operations.length
  for (let bits = 0; bits < count; bits++) {
    const flags = operations.map((_, i) => (bits & (1 << i)) !== 0)
    const possible = operations.every((operation, i) => {
      if (!flags[i]) return true
      return operation.kind === 'transfer' && !operation.onCpu
    })
    if (possible && flags.filter(Boolean).length <= residents) yield flags
  }
}

function* subsetsUpTo<T>(list: readonly T[], largest: number): Generator<T[]> {
  for (let bits = 0; bits < 1 << list.length; bits++) {
    const subset = list.filter((_, i) => (bits & (1 << i)) !== 0)
    if (subset.length <= largest) yield subset
  }
}

function* productOf<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  if (lists.length === 0) {
    yield []
    return
  }
  const [first, ...rest] = lists
  for (const item of first) for (const tail of productOf(rest)) yield [item, ...tail]
}

/**
 * Does the order in which heads were launched matter? Only where a rule reads it: a launch order, a
 * shared hardware queue, a communicator on two streams, a buffer that outlives its step.
 */
function orderMatters(heads: readonly Candidate[], device: Scenario['device']): boolean {
  if (device.launchOrder !== 'free' || device.hardwareQueues > 0) return true
  return heads.some(
    ({ fifo, operation: { queue, form } }) =>
      'reads' in form ||
      'writes' in form ||
      heads.some((o) => queue >= 0 && o.operation.queue === queue && o.fifo !== fifo),
  )
}

function* asListed<T>(list: readonly T[]): Generator<T[]> {
  yield [...list]
}

function* permutations<T>(list: readonly T[]): Generator<T[]> {
  if (list.length <= 1) {
    yield [...list]
    return
  }
  for (let i = 0; i < list.length; i++) {
    const rest = [...list.slice(0, i), ...list.slice(i + 1)]
    for (const tail of permutations(rest)) yield [list[i], ...tail]
  }
}
