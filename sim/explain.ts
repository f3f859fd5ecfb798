// Turns the end of a run into what an engineer needs: a story in words, the wait-for cycle, a table
// of ranks over time whose last column is the wedge, and the hazard of the field report that it is.

import type { Scenario } from '../spec/scenario.ts'
import type { Finding } from './rank-model.ts'
import { entryAgo, entryOp, entryStarted } from './rank-model.ts'
import { replay, type Trace, type TraceEvent } from './replay.ts'
import { decodeSchedule } from './schedule.ts'
import type { Waiter } from './waits.ts'
import { waitersOf, waitForCycle } from './waits.ts'

/** One link of the wait-for cycle. */
export interface Wait {
  readonly who: string
  readonly why: string
  readonly rank: number | undefined
}

/** A hazard of the report (H1..H5), or one that its header leaves (R1, R2), and its remedy. */
export interface Hazard {
  readonly id: 'H1' | 'H2' | 'H3' | 'H4' | 'H5' | 'R1' | 'R2'
  readonly name: string
  readonly because: string
  readonly fix: string
}

export interface Explanation {
  /** One or two sentences: who waits for whom, at which step, on which communicator, and why. */
  readonly story: string
  readonly cycle: readonly Wait[]
  /**
   * The loop of a lasso, for P6: what goes on for ever once the run (the stem) has ended. It takes
   * everything that is enabled there, so every fair scheduler allows it.
   */
  readonly loop: readonly string[]
  /** Where every rank stands in the end. */
  readonly standing: readonly string[]
  /** Rank × time; the last column is the end of the run. */
  readonly table: {
    readonly columns: readonly string[]
    readonly rows: readonly (readonly string[])[]
  }
  readonly hazard: Hazard | undefined
}

/**
 * Explains the run of a schedule.
 * @throws PpcheckError PPC301, PPC302 or PPC304 if it is none of this scenario.
 */
export const explainSchedule = (scenario: Scenario, schedule: string): Explanation =>
  explain(replay(scenario, decodeSchedule(scenario, schedule)))

/** Explains a trace. Pure: equal traces, equal words. */
export function explain(trace: Trace, columnsMax = 8): Explanation {
  const waiters = waitersOf(trace.world, trace.final, trace.dispatched)
  const cycle = waitForCycle(waiters)
  const standing = standingOf(trace, waiters)
  return {
    story: storyOf(trace, cycle),
    cycle: cycle.map(({ what, why, rank }) => ({ who: what, why, rank })),
    loop: trace.loop,
    standing,
    table: tableOf(trace, columnsMax),
    hazard: hazardOf(trace, cycle, waiters),
  }
}

const isStop = (findings: readonly Finding[]): boolean =>
  findings.some(({ property }) => ['P1', 'P4', 'P6', 'P10'].includes(property))

function storyOf(trace: Trace, cycle: readonly Waiter[]): string {
  const { findings } = trace
  if (findings.length === 0) return 'The run ends without a violation.'
  const [first] = findings
  if (!isStop(findings)) return `${sentence(first.text)}`
  if (cycle.length === 0) {
    const stuck = waitersOf(trace.world, trace.final, trace.dispatched)
    const sink = [...stuck.values()].find(({ spins }) => spins) ?? stuck.get('host 0')
    const who = sink === undefined ? '' : ` ${sentence(`${sink.what} ${sink.why}`)}`
    const why = 'Nobody will ever come: there is no cycle, a post is missing.'
    return `${sentence(first.text)}${who} ${why}`
  }
  const links = cycle.map(({ what, why }) => `${what} ${why}`)
  return sentence(`${links.join('; ')}; and so the circle closes`)
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

function standingOf(trace: Trace, waiters: ReadonlyMap<string, Waiter>): string[] {
  return Array.from({ length: trace.world.pp }, (_, rank) => {
    const host = waiters.get(`host ${rank}`)
    const spinning = [...waiters.values()].filter((w) => w.rank === rank && w.spins)
    const words = spinning.map(({ what }) => what.replace(` on rank ${rank}`, ''))
    const device = words.length > 0 ? `; spinning: ${words.join(', ')}` : ''
    return `host ${host?.why ?? 'stands still'}${device}`
  })
}

/** Events that tell the story: what starts, completes or strikes; not every host step. */
const isTelling = (event: TraceEvent): boolean =>
  event.choice !== undefined || /starts|completes|meet|fault|raises|idle/.test(event.text)

function tableOf(trace: Trace, columnsMax: number): Explanation['table'] {
  const { pp } = trace.world
  // Columns are filled greedily: an event goes into the first column after the last one in which
  // any of its ranks took part, so that a column holds what could have happened side by side.
  const columns: string[][] = []
  const next = new Array<number>(pp).fill(0)
  for (const event of trace.events) {
    if (!isTelling(event) || event.ranks.length === 0) continue
    const column = Math.max(...event.ranks.map((rank) => next[rank]))
    columns[column] ??= new Array<string>(pp).fill('')
    for (const rank of event.ranks) {
      columns[column][rank] = shortText(event.text)
      next[rank] = column + 1
    }
  }
  const shown = columns.slice(-columnsMax)
  const first = columns.length - shown.length
  const last = Array.from({ length: pp }, (_, rank) => lastCell(trace, rank))
  return {
    columns: [
      ...shown.map((_, i) => `t${first + i + 1}`),
      isStop(trace.findings) ? 'wedge' : 'end',
    ],
    rows: Array.from({ length: pp }, (_, rank) => [...shown.map((c) => c[rank]), last[rank]]),
  }
}

const shortText = (text: string): string =>
  text
    .replace(/^rank \d+: /, '')
    .replace(/ on [a-z-]+( \d+-\d+)?$/, '')
    .replace('receive-activation', 'recv-act')
    .replace('send-activation', 'send-act')
    .replace(/^activation /, 'act ')
    .replace(' starts', ' ▸')
    .replace(' completes', ' ✓')

/** What spins and what cannot start on a rank at the end. */
function lastCell(trace: Trace, rank: number): string {
  const { world, final, dispatched } = trace
  const { model } = world.ranks[rank]
  const local = world.rankState(final, 0, rank)
  const current = dispatched - 1 - local.rpc.filter((token) => token !== -2).length
  const words: string[] = []
  const seen = new Set<number>()
  for (const entry of [...local.device, ...local.cpu]) {
    const operation = model.operations[entryOp(entry)]
    if (operation.kind === 'wait' || operation.kind === 'reply') continue
    const fifo = operation.stream < 0 ? 100 + operation.queue : operation.stream
    if (seen.has(fifo)) continue
    seen.add(fifo)
    const mark = entryStarted(entry) ? '↻' : '✗'
    words.push(`${mark}${shortText(operation.name)}(${current - entryAgo(entry)})`)
  }
  return words.join(' ') || '–'
}

function hazardOf(
  trace: Trace,
  cycle: readonly Waiter[],
  waiters: ReadonlyMap<string, Waiter>,
): Hazard | undefined {
  const { findings, world } = trace
  const unseen = unseenByHeader(trace)
  if (unseen !== undefined) return unseen
  const names = cycle.map(({ id, why }) => `${id} ${why}`).join(' | ')
  const mismatch = findings.some(({ property }) => property === 'P2')
  const missing = isStop(findings) && cycle.length === 0
  if (mismatch || missing) {
    return {
      id: 'H1',
      name: 'data-dependent-schedule',
      because: mismatch
        ? 'ranks posted different sequences on one communicator'
        : 'a rank waits for a payload that its partner never posts',
      fix: 'post a fixed schedule every step, with sentinels, and a header that is checked',
    }
  }
  if (!isStop(findings) || cycle.length === 0) return undefined
  const graph = /full graph/.test(names)
  const onCpu = [...waiters.values()].some(({ id }) => /sender|drafts/.test(id)) && usesCpu(trace)
  if (graph && onCpu) {
    // A host that waits for an earlier payload behind the drafts is H5 seen from afar: deferring
    // the draft receive cannot help it. H4 is a host that waits for the drafts themselves.
    const hostWaitsForDraft = cycle.some(
      ({ id, why }) => id.startsWith('host ') && /^waits for drafts?\b/.test(why),
    )
    return hostWaitsForDraft
      ? {
          id: 'H4',
          name: 'host-blocking-draft',
          because:
            'hosts sit in a receive while the last rank waits for its GPU before it can send',
          fix: 'defer the draft receive until it is consumed, and draft eagerly',
        }
      : h5
  }
  if (graph) return h5
  // A run that never had more than pp steps in flight is also one of the capped engine.
  const ahead = mostInFlight(trace) > world.pp
  const places = /places|only place/.test(names)
  if (places && ahead) {
    return {
      id: 'H2',
      name: 'extra-in-flight-batch',
      because:
        `with ${world.scenario.topology.window} steps in flight a rank enters the next step ` +
        'while another is still in this one',
      fix: 'cap the batches in flight at pp',
    }
  }
  return places
    ? {
        id: 'H3',
        name: 'communicator-contention',
        because: 'collectives of several communicators compete for the places of one device',
        fix: 'move the token payloads to a CPU transport, or fix the launch order',
      }
    : undefined
}

/** Rows of other requests were adopted although every header that was checked agreed. */
function unseenByHeader({ findings, world, events }: Trace): Hazard | undefined {
  const adopted = findings.some(({ property }) => property === 'P3' || property === 'P12')
  const { operations } = world.ranks[0].model
  const hasHeader = operations.some(
    ({ form }) => form.do === 'broadcast' && form.header !== undefined,
  )
  if (!adopted || !hasHeader) return undefined
  const struck = (kind: string): boolean => events.some(({ text }) => text.includes(`(${kind} at`))
  const fix = 'put a digest of request ids and generations into the header (variant header-v2)'
  if (struck('own-mask-collision')) {
    return {
      id: 'R1',
      name: 'crc-collision',
      because: 'two masks of more than 32 rows have the same CRC-32, so the headers are equal',
      fix,
    }
  }
  if (!struck('own-rows')) return undefined
  return {
    id: 'R2',
    name: 'same-mask-other-rows',
    because: 'the masks are equal and the requests in the rows are not, which no header field says',
    fix,
  }
}

function mostInFlight({ events }: Trace): number {
  let inFlight = 0
  let most = 0
  for (const { text } of events) {
    if (text.startsWith('engine dispatches')) most = Math.max(most, ++inFlight)
    if (text.startsWith('engine retires')) inFlight--
  }
  return most
}

const h5: Hazard = {
  id: 'H5',
  name: 'draft-graph-stall',
  because:
    'the draft graph needs a device without spinning collectives, and one of them waits for it',
  fix: 'run the draft eagerly; the target model may keep its graphs',
}

const usesCpu = (trace: Trace): boolean => trace.world.channels.some(({ device }) => !device)
