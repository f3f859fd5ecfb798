// A scenario of bounded steps, unrolled: what every host launches, posts, waits for and meets, step
// after step. The first half of the models for other checkers (bounded-model.ts is the second),
// which are oracles beside ppcheck's own. It must never use the rank models, their tables or their
// compiled programs: whatever it says, it derives from the protocol's operations by itself.

import { batchFrom, holds } from '../../spec/batch.ts'
import { fail } from '../../spec/error.ts'
import type { Operation, TransferOperation } from '../../spec/operation.ts'
import { describe, isTransfer } from '../../spec/operation.ts'
import { programOf, resolvePeer, resolveSteps } from '../../spec/resolve-program.ts'
import type { Scenario } from '../../spec/scenario.ts'

/** One piece of work that a host launches or posts. */
export interface Work {
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
export interface Link {
  readonly name: string
  readonly device: boolean
  readonly members: readonly number[]
  /** What each member posts, in order. */
  readonly posts: Map<number, Work[]>
}

/** A statement of a host: what it waits for, and what it does in words. */
export interface HostStatement {
  /** Work that must be complete. */
  readonly after: readonly Work[]
  /** Set where the engine must have dispatched more steps than this. */
  readonly dispatched?: number
  readonly text: string
  /** Set where two hosts must meet: the statement is then the meeting's. */
  readonly meeting?: string
}

export interface Unrolled {
  readonly hosts: readonly (readonly HostStatement[])[]
  readonly works: readonly Work[]
  readonly links: readonly Link[]
  readonly meetings: ReadonlyMap<string, ReadonlyMap<number, readonly number[]>>
  /** Per rank that replies: for each reply when the host has made it and what it waits for. */
  readonly replies: ReadonlyMap<number, readonly { host: number; after: readonly Work[] }[]>
}

/** Refuses what the models cannot say. @throws PpcheckError PPC206. */
export const refuse = (what: string): never =>
  fail('PPC206', what, 'ppcheck explore decides such scenarios itself')

/** A name that Promela and TLA+ take. */
export const identifier = (text: string): string => text.replaceAll(/[^A-Za-z0-9]/g, '_')

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

/**
 * Runs every host alone through all steps and notes what it launches, waits for and meets. For a
 * fixed workload the k-th entry of every FIFO is then known.
 * @throws PpcheckError PPC206 for what the models do not say.
 */
export function unroll(scenario: Scenario): Unrolled {
  refuseWhatIsNotExported(scenario)
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

    const perform = (form: Operation, step: number): readonly Work[] => {
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
          return outstanding(form.for.operation, step - ago)
        }
        case 'check-header':
          return outstanding(form.header, step)
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
          if (form.on === 'host') return works
          add(form, 'consume', slot, form.on, works)
          return []
        }
        default:
          return []
      }
    }

    for (const [step, batch] of batches.entries()) {
      const old = mine.filter((work) => work.step <= step - 1 - depth)
      statements.push({ dispatched: step, after: old, text: `execute(${step})` })
      const run = (operations: readonly Operation[]) => {
        for (const form of operations.filter(({ when }) => holds(batch, when ?? []))) {
          if (form.do === 'rendezvous') {
            const peer = resolvePeer(form.peer, rank, pp) ?? rank
            const [low, high] = [Math.min(rank, peer), Math.max(rank, peer)]
            const meeting = `meet_${identifier(form.name)}_${low}_${high}`
            const places = meetings.get(meeting) ?? new Map([low, high].map((r) => [r, []]))
            places.get(rank)?.push(statements.length)
            meetings.set(meeting, places)
            statements.push({ after: [], text: `${describe(form)}, ${step}`, meeting })
          } else {
            const after = perform(form, step)
            statements.push({ after, text: `${describe(form)}, ${step}` })
          }
        }
      }
      run(program.execute)
      statements.push({ after: [], text: `sample(${step})` })
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
