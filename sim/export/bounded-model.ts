// A scenario of bounded steps as processes over counters: what the Promela and TLA+ models are
// printed from. For a fixed workload the k-th entry of every FIFO is known, so a FIFO is one
// counter. A wait of a stream has no state: it holds back the entries behind it as long as its work
// is not complete. Every line is one transition of one process.

import { batchFrom } from '../../spec/batch.ts'
import type { TransferOperation } from '../../spec/operation.ts'
import { resolvePeer } from '../../spec/resolve-program.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { HostStatement, Link, Unrolled, Work } from './unroll.ts'
import { identifier, refuse, unroll } from './unroll.ts'

/** `counter is value`, for example `host_0 >= 3`. */
export interface Condition {
  readonly counter: string
  readonly is: '>' | '>=' | '<' | '=='
  readonly value: number
}

/** A counter goes up or down by one. */
export interface Effect {
  readonly counter: string
  readonly by: 1 | -1
}

/** What a process does next, once all its needs hold. */
export interface Line {
  readonly needs: readonly Condition[]
  readonly effects: readonly Effect[]
  readonly text: string
  /** `never`: the process stops here for good; `disagrees`: the move breaks P2. */
  readonly outcome: 'moves' | 'never' | 'disagrees'
}

/** Lines that happen one after the other. */
export interface Process {
  readonly name: string
  readonly lines: readonly Line[]
}

export interface BoundedModel {
  /** All counters, from 0, in groups that are described together. */
  readonly counters: readonly { readonly names: readonly string[]; readonly about: string }[]
  /** No counter grows beyond this. */
  readonly largest: number
  readonly processes: readonly Process[]
}

// Every counter by its name; the prefixes keep them apart from each other and from keywords.
const hostOf = (rank: number): string => `host_${rank}`
const residentOf = (rank: number): string => `resident_${rank}`
const streamOf = (work: Work): string => `on_${identifier(work.stream ?? '')}_${work.rank}`

const when = (counter: string, is: Condition['is'], value: number): Condition => ({
  counter,
  is,
  value,
})

const up = (counter: string): Effect => ({ counter, by: 1 })
const down = (counter: string): Effect => ({ counter, by: -1 })

const moves = (needs: readonly Condition[], effects: readonly Effect[], text: string): Line => ({
  needs,
  effects,
  text,
  outcome: 'moves',
})

const never = (text: string): Line => ({ needs: [], effects: [], text, outcome: 'never' })

/** Work that is left over at the end of a process is one more line that never comes. */
const leftOver = (isLeft: boolean): Line[] => (isLeft ? [never('work is left over for ever')] : [])

/** Has a transfer on a device taken its place, or a kernel completed, or a thread posted? */
const passed = (work: Work): Condition => when(streamOf(work), '>', work.place)

const completed = (work: Work): Condition =>
  work.link === undefined ? passed(work) : when(work.link.name, '>', work.turn)

const launched = (work: Work): Condition => when(hostOf(work.rank), '>=', work.host)

/** Does a FIFO of the device hold it (as against a CPU transport's)? */
const isOnDevice = (work: Work): boolean => work.link?.device === true

/** The order in which collectives are in one FIFO of their communicator on a rank. */
function fifoOf(scenario: Scenario, work: Work): string {
  const form = work.form as TransferOperation
  const { kind } = scenario.protocol.communicators[form.communicator]
  const partner = kind === 'pair' ? work.link?.members.join('-') : 'all'
  return `${form.stream === 'cpu'}/${form.communicator}/${partner}`
}

/** What must have completed or started for a transfer to be at its communicator's head. */
function atHead(scenario: Scenario, work: Work, works: readonly Work[]): Condition[] {
  const fifo = fifoOf(scenario, work)
  const before = works.filter(
    (other) =>
      other.rank === work.rank &&
      other.link !== undefined &&
      other.host < work.host &&
      fifoOf(scenario, other) === fifo,
  )
  // The last one of each link will do: a link completes in order.
  const last = new Map(before.map((other) => [other.link, other]))
  const threads = new Set([...before, work].map((o) => (o.link?.device ? 'gpu' : o.stream)))
  if (threads.size > 1) refuse(`several threads post on one communicator of rank ${work.rank}`)
  return [...last.values()].map(completed)
}

function inLaunchOrder(scenario: Scenario, work: Work, works: readonly Work[]): Condition[] {
  const { launchOrder } = scenario.device
  if (launchOrder === 'free') return []
  const before = works.filter(
    (other) => other.rank === work.rank && isOnDevice(other) && other.host < work.host,
  )
  const last = new Map(before.map((other) => [other.stream, other]))
  return [...last.values()].map(launchOrder === 'serial' ? completed : passed)
}

function streamProcess(
  scenario: Scenario,
  entries: readonly Work[],
  works: readonly Work[],
): Process {
  const { residentCollectives } = scenario.device
  const lines = entries.map((work, index) => {
    const resident = residentOf(work.rank)
    const before = index > 0 && isOnDevice(entries[index - 1]) ? [entries[index - 1]] : []
    const needs = [launched(work), ...before.map(completed), ...work.after.map(completed)]
    const effects = [up(streamOf(work))]
    if (isOnDevice(work)) {
      needs.push(when(resident, '<', residentCollectives))
      needs.push(...atHead(scenario, work, works), ...inLaunchOrder(scenario, work, works))
      effects.push(up(resident))
    }
    if (work.form.do === 'launch' && work.form.exclusive) needs.push(when(resident, '==', 0))
    return moves(needs, effects, `${work.text}${isOnDevice(work) ? ' starts' : ''}`)
  })
  const [{ rank, stream }] = entries
  return { name: `rank_${rank}_${identifier(stream ?? '')}`, lines }
}

/** What is negotiated by nobody and must be equal on all members (P2). */
function signature(scenario: Scenario, work: Work): string {
  const form = work.form as TransferOperation
  const { pp, drafts } = scenario.topology
  const { script, choices } = scenario.workload
  const { requests } = batchFrom(script[work.step] ?? choices[0])
  const sizes = { R: requests, K: drafts, 'K+1': drafts + 1 }
  const count = form.shape.reduce<number>((n, d) => n * (typeof d === 'number' ? d : sizes[d]), 1)
  const pair = form.do === 'send' || form.do === 'receive'
  const root =
    form.do === 'broadcast'
      ? resolvePeer(form.root, work.rank, pp)
      : form.do === 'receive'
        ? resolvePeer(form.peer, work.rank, pp)
        : form.do === 'send'
          ? work.rank
          : ''
  const negotiated = [pair ? 'p2p' : form.do, root, form.dtype, count].join('/')
  return `${negotiated} ${pair ? '' : form.name}(${work.step})`
}

const isHeader = ({ form }: Work): boolean => form.do === 'broadcast' && form.header !== undefined

function linkProcess(scenario: Scenario, link: Link, works: readonly Work[]): Process {
  const posts = link.members.map((rank) => link.posts.get(rank) ?? [])
  const matched = Math.min(...posts.map((list) => list.length))
  const hangs = scenario.properties?.includes('P2') === false
  const lines = Array.from({ length: matched }, (_, turn): Line => {
    const heads = posts.map((list) => list[turn])
    const needs = heads.flatMap((work) =>
      link.device
        ? [passed(work)]
        : [
            work.stream === undefined ? launched(work) : passed(work),
            ...atHead(scenario, work, works),
          ],
    )
    const said = [...new Set(heads.map((work) => signature(scenario, work)))]
    const agrees = said.length === 1
    const size = new Set(said.map((text) => text.split(' ')[0])).size
    if (!agrees && size === 1 && heads.every(isHeader)) {
      refuse(`a header meets another step's header on ${link.name}`)
    }
    if (!agrees && hangs) return never(said.join(' meets '))
    const places = link.device ? link.members.map((rank) => down(residentOf(rank))) : []
    const line = moves(needs, [up(link.name), ...places], heads[0].text)
    return agrees ? line : { ...line, text: said.join(' meets '), outcome: 'disagrees' }
  })
  const isLeft = posts.some((list) => list.length > matched)
  return { name: `link_${link.name}`, lines: [...lines, ...leftOver(isLeft)] }
}

function hostProcess(rank: number, statements: readonly HostStatement[]): Process {
  const lines = statements.flatMap(({ after, dispatched, text, meeting }, index) => {
    // A meeting is a process of its own and moves this host's counter without this process.
    if (meeting !== undefined) return []
    const met = index > 0 && statements[index - 1].meeting !== undefined
    const needs = [
      ...(met ? [when(hostOf(rank), '==', index)] : []),
      ...(dispatched === undefined ? [] : [when('dispatched', '>', dispatched)]),
      ...after.map(completed),
    ]
    return [moves(needs, [up(hostOf(rank))], `${index}: ${text}`)]
  })
  return { name: `rank_${rank}_host`, lines }
}

function engineProcesses(scenario: Scenario, { hosts, replies }: Unrolled): Process[] {
  const { workload, topology } = scenario
  const { steps } = workload
  // The ring towards a rank has so many places.
  const ring = 2 * topology.window + 2
  const takes = hosts.map((statements) =>
    statements.flatMap(({ dispatched }, index) => (dispatched === undefined ? [] : [index])),
  )
  const dispatches = Array.from({ length: steps }, (_, step) => {
    const room = step >= topology.window ? [when('retired', '>', step - topology.window)] : []
    const taken = takes.flatMap((places, rank) =>
      step >= ring ? [when(hostOf(rank), '>', places[step - ring])] : [],
    )
    return moves([...room, ...taken], [up('dispatched')], `dispatch ${step}`)
  })
  const lists = [...replies.entries()]
  const retires = Array.from({ length: steps }, (_, step) => {
    if (lists.some(([, list]) => list.length <= step)) return never('no reply comes')
    const needs = lists.flatMap(([rank, list]) => [
      when(hostOf(rank), '>=', list[step].host),
      ...list[step].after.map(completed),
    ])
    return moves([when('dispatched', '>', step), ...needs], [up('retired')], `retire ${step}`)
  })
  const isLeft = lists.some(([, list]) => list.length > steps)
  return [
    { name: 'engine', lines: [...dispatches, moves([], [up('idle')], 'goes idle')] },
    { name: 'engine_replies', lines: [...retires, ...leftOver(isLeft)] },
  ]
}

function meetingProcess(name: string, places: ReadonlyMap<number, readonly number[]>): Process {
  const [[low, mine], [high, theirs]] = [...places.entries()]
  const count = Math.min(mine.length, theirs.length)
  const lines = Array.from({ length: count }, (_, index) =>
    moves(
      [when(hostOf(low), '==', mine[index]), when(hostOf(high), '==', theirs[index])],
      [up(hostOf(low)), up(hostOf(high))],
      `${name}, ${index}`,
    ),
  )
  return { name, lines: [...lines, ...leftOver(mine.length !== theirs.length)] }
}

/**
 * The scenario as processes over counters. All have ended exactly where ppcheck sees neither a
 * deadlock (P1) nor a post that nobody matches (P10); operations that differ at the same position
 * (P2) are lines that disagree. The other properties of ppcheck are not in the model.
 * @throws PpcheckError PPC206 for what the model does not say.
 */
export function boundedModel(scenario: Scenario): BoundedModel {
  const unrolled = unroll(scenario)
  const { hosts, works, links, meetings } = unrolled
  const streams = new Map<string, Work[]>()
  for (const work of works) {
    if (work.stream === undefined) continue
    streams.set(streamOf(work), [...(streams.get(streamOf(work)) ?? []), work])
  }
  const ranks = Array.from({ length: scenario.topology.pp }, (_, rank) => rank)
  return {
    counters: [
      { names: ['dispatched', 'retired'], about: 'steps of the engine' },
      { names: ['idle'], about: 'the engine has nothing left' },
      { names: ranks.map(hostOf), about: 'statements that a host has performed' },
      { names: ranks.map(residentOf), about: 'collectives that occupy a place' },
      {
        names: [...streams.keys()],
        about: 'kernels done, collectives started, posts by a thread',
      },
      {
        names: links.map(({ name }) => name),
        about: 'operations completed on all members',
      },
    ].filter(({ names }) => names.length > 0),
    largest: Math.max(...hosts.map((list) => list.length), works.length),
    // SPIN's depth-first search moves the last process first: hosts that run ahead and collectives
    // that start before any is matched fill the device, and so a deadlock is found in moments.
    processes: [
      ...links.map((link) => linkProcess(scenario, link, works)),
      ...[...streams.values()].map((entries) => streamProcess(scenario, entries, works)),
      ...[...meetings.entries()].map(([name, places]) => meetingProcess(name, places)),
      ...hosts.map((list, rank) => hostProcess(rank, list)),
      ...engineProcesses(scenario, unrolled),
    ],
  }
}
