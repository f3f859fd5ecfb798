// A scenario of bounded steps as a Promela model for SPIN: an oracle beside ppcheck's own checker.
// It must never use the rank models, their tables or their compiled programs: whatever it says, it
// derives from the protocol's operations by itself, by unrolling them over the steps. For a fixed
// workload the k-th entry of every FIFO is then known, so a FIFO is one counter. A wait of a stream
// has no state: it holds back the entries behind it as long as its work is not complete.

import { batchFrom, holds } from '../../spec/batch.ts'
import { fail } from '../../spec/error.ts'
import type { Operation, TransferOperation } from '../../spec/operation.ts'
import { describe, isTransfer } from '../../spec/operation.ts'
import { programOf, resolvePeer, resolveSteps } from '../../spec/resolve-program.ts'
import type { Scenario } from '../../spec/scenario.ts'

/** One piece of work that a host launches or posts. */
interface Work {
  readonly rank: number
  readonly form: Operation
  readonly name: string
  /** The step that it belongs to: an earlier one than the host's, if it was deferred. */
  readonly step: number
  /** Launched as soon as the host's counter has reached this. */
  readonly host: number
  /** Its stream or thread, and how many entries stand before it there. */
  readonly stream: string | undefined
  readonly place: number
  /** Its communicator's counter and its position there; only for transfers. */
  readonly link: Link | undefined
  readonly turn: number
  /** Work whose completion it waits for where it stands. */
  readonly after: readonly Work[]
  readonly text: string
}

/** Ranks that match operations by their order: a counter of what they have completed. */
interface Link {
  readonly name: string
  readonly device: boolean
  readonly members: readonly number[]
  /** What each member posts, in order. */
  readonly posts: Map<number, Work[]>
}

/** A statement of a host: what it needs, and what it does in words. */
interface HostStatement {
  readonly needs: readonly string[]
  readonly text: string
  /** Set where two hosts must meet: the statement is then the meeting's. */
  readonly meeting?: string
}

interface Unrolled {
  readonly hosts: readonly (readonly HostStatement[])[]
  readonly works: readonly Work[]
  readonly links: readonly Link[]
  readonly meetings: ReadonlyMap<string, ReadonlyMap<number, readonly number[]>>
  /** Per rank that replies: for each reply when the host has made it and what it waits for. */
  readonly replies: ReadonlyMap<number, readonly { host: number; after: readonly Work[] }[]>
}

const refuse = (what: string): never =>
  fail('PPC206', `Promela: ${what}`, 'ppcheck explore decides such scenarios itself')

const identifier = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '_')

// Every counter by its name; the prefixes keep them apart from each other and from keywords.
const hostOf = (rank: number): string => `host_${rank}`
const streamOf = (work: Work): string => `on_${identifier(work.stream ?? '')}_${work.rank}`

/** Has a transfer on a device taken its place, or a kernel completed, or a thread posted? */
const passed = (work: Work): string => `${streamOf(work)} > ${work.place}`

const completed = (work: Work): string =>
  work.link === undefined ? passed(work) : `${work.link.name} > ${work.turn}`

const launched = (work: Work): string => `${hostOf(work.rank)} >= ${work.host}`

/** Does a FIFO of the device hold it (as against a CPU transport's)? */
const isOnDevice = (work: Work): boolean => work.link?.device === true

function refuseWhatIsNotExported(scenario: Scenario): void {
  const { device, faults, workload, topology, engineWindow } = scenario
  if (workload.steps === 0) refuse('an endless run has no finite model, set workload.steps')
  if (faults.length > 0) refuse('faults are not exported')
  if (device.eager > 0) refuse('eager sends are not exported')
  if (device.hardwareQueues > 0) refuse('hardware queues are not exported')
  if (device.moduleLoading === 'lazy') refuse('lazy module loading is not exported')
  if (engineWindow !== undefined && engineWindow !== topology.window) {
    refuse('an engine that breaks its window is not exported')
  }
}

function refuseOperation(form: Operation): void {
  if (['poll', 'raise', 'release', 'read'].includes(form.do)) refuse(`${form.do} is not exported`)
  const touches = ('reads' in form && form.reads) || ('writes' in form && form.writes)
  if (touches) refuse(`the buffers of ${describe(form)} are not exported`)
}

/** The batch of every step, where it is known or where no operation can tell the choices apart. */
function batchesOf(scenario: Scenario) {
  const { steps, script, choices } = scenario.workload
  const { protocol, topology } = scenario
  const forms = Array.from({ length: topology.pp }, (_, rank) =>
    programOf(protocol, rank, topology.pp),
  ).flatMap((program) => [...program.execute, ...program.sample])
  const seen = (input: (typeof choices)[number]): string => {
    const batch = batchFrom(input)
    const guards = forms.map(({ when }) => Number(holds(batch, when ?? [])))
    return [batch.empty, batch.requests, batch.frees, ...guards].join()
  }
  if (steps > script.length && new Set(choices.map(seen)).size > 1) {
    refuse('choices that a program can tell apart are not exported, script the batches')
  }
  const batches = Array.from({ length: steps }, (_, step) => batchFrom(script[step] ?? choices[0]))
  const frees = forms.some((form) => form.do === 'free-rows')
  if (frees && batches.some((batch) => batch.frees)) refuse('freed rows are not exported')
  return batches
}

/** Runs every host alone through all steps and notes what it launches, waits for and meets. */
function unroll(scenario: Scenario): Unrolled {
  const { protocol, topology } = scenario
  const { pp, window } = topology
  const batches = batchesOf(scenario)
  const works: Work[] = []
  const links = new Map<string, Link>()
  const meetings = new Map<string, Map<number, number[]>>()
  const replies = new Map<number, { host: number; after: Work[] }[]>()

  const linkOf = (rank: number, form: TransferOperation): Link => {
    const device = form.stream !== 'cpu'
    const peer = 'peer' in form ? (resolvePeer(form.peer, rank, pp) ?? rank) : undefined
    const members =
      peer === undefined
        ? Array.from({ length: pp }, (_, r) => r)
        : [Math.min(rank, peer), Math.max(rank, peer)]
    const parts = [form.communicator, ...(peer === undefined ? [] : members)]
    const name = `${device ? 'gpu' : 'cpu'}_${identifier(parts.join('_'))}`
    const link = links.get(name) ?? { name, device, members, posts: new Map<number, Work[]>() }
    links.set(name, link)
    return link
  }

  const hosts = Array.from({ length: pp }, (_, rank) => {
    const program = programOf(protocol, rank, pp)
    if (program.idle.length > 0) refuse('programs for the idle engine are not exported')
    const forms = [...program.execute, ...program.sample]
    forms.forEach(refuseOperation)
    if (forms.some((form) => form.do === 'reply')) replies.set(rank, [])
    const statements: HostStatement[] = []
    const mine: Work[] = []
    const places = new Map<string, number>()
    const waiting = new Map<string, Work[]>()
    const asked: { name: string; step: number; found: number }[] = []
    let slots: number[] = []
    // Launch queues are finite: the host takes no call with work outstanding from so long ago.
    const reach = Math.max(pp, ...forms.map((form) => reachOf(form, pp)))
    const depth = Math.min(62, window + 2 * reach)

    const outstanding = (name: string, step: number): Work[] => {
      const found = mine.filter((work) => work.name === name && work.step === step)
      asked.push({ name, step, found: found.length })
      return found
    }
    const add = (
      form: Operation,
      name: string,
      step: number,
      stream?: string,
      after = [] as Work[],
    ) => {
      const link = isTransfer(form) ? linkOf(rank, form) : undefined
      const posts = link?.posts.get(rank) ?? []
      const place = stream === undefined ? 0 : (places.get(stream) ?? 0)
      const held = stream === undefined ? [] : (waiting.get(stream) ?? [])
      const text = `${'name' in form ? form.name : form.do}(${step})`
      const host = statements.length + 1
      const all = [...held, ...after]
      const turn = posts.length
      const work = { rank, form, name, step, host, stream, place, link, turn, after: all, text }
      if (stream !== undefined) {
        places.set(stream, place + 1)
        waiting.set(stream, [])
      }
      link?.posts.set(rank, [...posts, work])
      mine.push(work)
    }

    const perform = (form: Operation, step: number): readonly string[] => {
      switch (form.do) {
        case 'launch':
          add(form, form.name, step, form.stream)
          return []
        case 'broadcast':
        case 'collective':
        case 'send':
        case 'receive': {
          const ago = resolveSteps(form.stepsAgo ?? 0, pp)
          // A deferred post belongs to a step that has a pending receive, or does not happen.
          if (ago > 0 && !slots.includes(step - ago)) return []
          add(form, form.name, step - ago, form.stream === 'cpu' ? form.thread : form.stream)
          return []
        }
        case 'stream-wait': {
          const works = outstanding(form.for.operation, step - resolveSteps(form.for.stepsAgo, pp))
          waiting.set(form.stream, [...(waiting.get(form.stream) ?? []), ...works])
          return []
        }
        case 'host-wait': {
          const ago = resolveSteps(form.for.stepsAgo, pp)
          return outstanding(form.for.operation, step - ago).map(completed)
        }
        case 'check-header':
          return outstanding(form.header, step).map(completed)
        case 'reply': {
          const ago = resolveSteps(form.after.stepsAgo, pp)
          const after = outstanding(form.after.operation, step - ago)
          replies.get(rank)?.push({ host: statements.length + 1, after })
          return []
        }
        case 'pend':
          slots = [...slots, step]
          if (slots.length > pp) refuse(`rank ${rank} has more than pp pending receives (P7)`)
          return []
        case 'consume': {
          const ago = resolveSteps(form.stepsAgo, pp)
          if (slots.length === 0 || step - slots[0] < ago) return []
          const [slot] = slots
          slots = slots.slice(1)
          if (step - slot !== pp) refuse(`rank ${rank} does not consume exactly pp later (P7)`)
          const works = outstanding(form.after, slot)
          if (form.on === 'host') return works.map(completed)
          add(form, 'consume', slot, form.on, works)
          return []
        }
        default:
          return []
      }
    }

    for (const [step, batch] of batches.entries()) {
      const old = mine.filter((work) => work.step <= step - 1 - depth).map(completed)
      statements.push({ needs: [`dispatched > ${step}`, ...old], text: `execute(${step})` })
      const run = (operations: readonly Operation[]) => {
        for (const form of operations.filter(({ when }) => holds(batch, when ?? []))) {
          if (form.do === 'rendezvous') {
            const peer = resolvePeer(form.peer, rank, pp) ?? rank
            const [low, high] = [Math.min(rank, peer), Math.max(rank, peer)]
            const meeting = `meet_${identifier(form.name)}_${low}_${high}`
            const places = meetings.get(meeting) ?? new Map([low, high].map((r) => [r, []]))
            places.get(rank)?.push(statements.length)
            meetings.set(meeting, places)
            statements.push({ needs: [], text: `${describe(form)}, ${step}`, meeting })
          } else {
            const needs = perform(form, step)
            statements.push({ needs, text: `${describe(form)}, ${step}` })
          }
        }
      }
      run(program.execute)
      statements.push({ needs: [], text: `sample(${step})` })
      run(batch.empty ? program.sample.filter((form) => form.do === 'reply') : program.sample)
    }
    for (const { name, step, found } of asked) {
      const all = mine.filter((work) => work.name === name && work.step === step).length
      if (found > 0 && all > found) refuse(`${name} is waited for between two of its launches`)
    }
    works.push(...mine)
    return statements
  })
  if (replies.size === 0) fail('PPC201', `${protocol.name}: no rank ever replies to the engine`)
  return { hosts, works, links: [...links.values()], meetings, replies }
}

function reachOf(form: Operation, pp: number): number {
  const steps = 'for' in form ? form.for.stepsAgo : form.do === 'reply' ? form.after.stepsAgo : 0
  const ago = 'stepsAgo' in form ? (form.stepsAgo ?? 0) : 0
  return Math.max(resolveSteps(steps, pp), resolveSteps(ago, pp))
}

// From here on: text.

const statement = (needs: readonly string[], effects: readonly string[], text: string): string => {
  const guard = needs.length > 0 ? [...new Set(needs)].join(' && ') : 'true'
  return `  d_step { ${guard} -> ${effects.join('; ')} } /* ${text.replaceAll('*/', '')} */`
}

const proctype = (name: string, lines: readonly string[], ends = true): string =>
  [
    `active proctype ${name}() {`,
    ...lines,
    ends ? 'end: false' : '  false /* work is left over for ever */',
    '}',
  ].join('\n')

/** The order in which collectives are in one FIFO of their communicator on a rank. */
function fifoOf(scenario: Scenario, work: Work): string {
  const form = work.form as TransferOperation
  const { kind } = scenario.protocol.communicators[form.communicator]
  const partner = kind === 'pair' ? work.link?.members.join('-') : 'all'
  return `${form.stream === 'cpu'}/${form.communicator}/${partner}`
}

/** What must have completed or started for a transfer to be at its communicator's head. */
function atHead(scenario: Scenario, work: Work, works: readonly Work[]): string[] {
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

function inLaunchOrder(scenario: Scenario, work: Work, works: readonly Work[]): string[] {
  const { launchOrder } = scenario.device
  if (launchOrder === 'free') return []
  const before = works.filter(
    (other) => other.rank === work.rank && isOnDevice(other) && other.host < work.host,
  )
  const last = new Map(before.map((other) => [other.stream, other]))
  return [...last.values()].map(launchOrder === 'serial' ? completed : passed)
}

function streamText(scenario: Scenario, entries: readonly Work[], works: readonly Work[]): string {
  const { residentCollectives } = scenario.device
  const lines = entries.map((work, index) => {
    const before = index > 0 && isOnDevice(entries[index - 1]) ? [entries[index - 1]] : []
    const needs = [launched(work), ...before.map(completed), ...work.after.map(completed)]
    const effects = [`${streamOf(work)}++`]
    if (isOnDevice(work)) {
      needs.push(`resident_${work.rank} < ${residentCollectives}`)
      needs.push(...atHead(scenario, work, works), ...inLaunchOrder(scenario, work, works))
      effects.push(`resident_${work.rank}++`)
    }
    if (work.form.do === 'launch' && work.form.exclusive) needs.push(`resident_${work.rank} == 0`)
    return statement(needs, effects, `${work.text}${isOnDevice(work) ? ' starts' : ''}`)
  })
  return proctype(`rank_${entries[0].rank}_${identifier(entries[0].stream ?? '')}`, lines)
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

function linkText(scenario: Scenario, link: Link, works: readonly Work[]): string {
  const posts = link.members.map((rank) => link.posts.get(rank) ?? [])
  const matched = Math.min(...posts.map((list) => list.length))
  const hangs = scenario.properties?.includes('P2') === false
  const lines = Array.from({ length: matched }, (_, turn) => {
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
    if (!agrees && hangs) return `  false /* ${said.join(' meets ')} */`
    const places = link.device ? link.members.map((rank) => `resident_${rank}--`) : []
    const effects = [...(agrees ? [] : ['assert(false)']), `${link.name}++`, ...places]
    return statement(needs, effects, agrees ? `${heads[0].text}` : said.join(' meets '))
  })
  return proctype(`link_${link.name}`, lines, !posts.some((list) => list.length > matched))
}

function hostText(rank: number, statements: readonly HostStatement[]): string {
  const lines = statements.flatMap(({ needs, text, meeting }, index) => {
    if (meeting !== undefined) return [`  /* ${index}: ${text}: see ${meeting} */`]
    // A meeting moves this host's counter without this process.
    const met = index > 0 && statements[index - 1].meeting !== undefined
    const mine = met ? [`${hostOf(rank)} == ${index}`] : []
    return [statement([...mine, ...needs], [`${hostOf(rank)}++`], `${index}: ${text}`)]
  })
  return proctype(`rank_${rank}_host`, lines)
}

function engineText(scenario: Scenario, { hosts, replies }: Unrolled): string[] {
  const { workload, topology } = scenario
  const { steps } = workload
  // The ring towards a rank has so many places.
  const ring = 2 * topology.window + 2
  const takes = hosts.map((statements) =>
    statements.flatMap(({ text }, index) => (text.startsWith('execute(') ? [index] : [])),
  )
  const dispatches = Array.from({ length: steps }, (_, step) => {
    const room = step >= topology.window ? [`retired > ${step - topology.window}`] : []
    const taken = takes.flatMap((places, rank) =>
      step >= ring ? [`${hostOf(rank)} > ${places[step - ring]}`] : [],
    )
    return statement([...room, ...taken], ['dispatched++'], `dispatch ${step}`)
  })
  const lists = [...replies.entries()]
  const retires = Array.from({ length: steps }, (_, step) => {
    if (lists.some(([, list]) => list.length <= step)) return '  false /* no reply comes */'
    const needs = lists.flatMap(([rank, list]) => [
      `${hostOf(rank)} >= ${list[step].host}`,
      ...list[step].after.map(completed),
    ])
    return statement([`dispatched > ${step}`, ...needs], ['retired++'], `retire ${step}`)
  })
  const isLeft = lists.some(([, list]) => list.length > steps)
  return [
    proctype('engine', [...dispatches, statement([], ['idle = 1'], 'goes idle')]),
    proctype('engine_replies', retires, !isLeft),
  ]
}

function meetingText(name: string, places: ReadonlyMap<number, readonly number[]>): string {
  const [[low, mine], [high, theirs]] = [...places.entries()]
  const count = Math.min(mine.length, theirs.length)
  const lines = Array.from({ length: count }, (_, index) =>
    statement(
      [`${hostOf(low)} == ${mine[index]}`, `${hostOf(high)} == ${theirs[index]}`],
      [`${hostOf(low)}++`, `${hostOf(high)}++`],
      `${name}, ${index}`,
    ),
  )
  return proctype(name, lines, mine.length === theirs.length)
}

/**
 * The scenario as a Promela model. A deadlock or a post that nobody matches (P1, P10) is an invalid
 * end state, operations that differ at the same position (P2) violate an assertion.
 * @throws PpcheckError PPC206 for what is not exported.
 */
export function toPromela(scenario: Scenario): string {
  refuseWhatIsNotExported(scenario)
  const unrolled = unroll(scenario)
  const { hosts, works, links, meetings } = unrolled
  const { pp, window } = scenario.topology
  const { residentCollectives, launchOrder } = scenario.device
  const streams = new Map<string, Work[]>()
  for (const work of works) {
    if (work.stream === undefined) continue
    streams.set(streamOf(work), [...(streams.get(streamOf(work)) ?? []), work])
  }
  const ranks = Array.from({ length: pp }, (_, rank) => rank)
  const longest = Math.max(...hosts.map((list) => list.length), works.length)
  const type = longest < 255 ? 'byte' : 'short'
  const declare = (names: readonly string[], text: string): string =>
    names.length > 0 ? `${type} ${names.join(', ')} /* ${text} */` : ''
  const { steps } = scenario.workload
  return [
    `/* ${identifier(scenario.name)}, protocol ${identifier(scenario.protocol.name)}: pp ${pp},`,
    `   window ${window}, ${steps} steps, ${residentCollectives} resident collectives, launch`,
    `   order ${launchOrder}. Written by ppcheck export --format promela. Every line that moves is`,
    '   one transition. A deadlock (P1, P10) is an invalid end state, a mismatch (P2) an assertion',
    '   that fails; the other properties of ppcheck are not in this model. */',
    '',
    declare(['dispatched', 'retired'], 'steps of the engine'),
    'bit idle /* the engine has nothing left */',
    declare(ranks.map(hostOf), 'statements that a host has performed'),
    declare(
      ranks.map((rank) => `resident_${rank}`),
      'collectives that occupy a place',
    ),
    declare([...streams.keys()], 'kernels done, collectives started, posts by a thread'),
    declare(
      links.map(({ name }) => name),
      'operations completed on all members',
    ),
    '',
    // SPIN's depth-first search moves the last process first: hosts that run ahead and collectives
    // that start before any is matched fill the device, and so a deadlock is found in moments.
    ...links.map((link) => linkText(scenario, link, works)),
    ...[...streams.values()].map((entries) => streamText(scenario, entries, works)),
    ...[...meetings.entries()].map(([name, places]) => meetingText(name, places)),
    ...hosts.map((list, rank) => hostText(rank, list)),
    ...engineText(scenario, unrolled),
    '',
  ].join('\n')
}
