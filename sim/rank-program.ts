// A rank's program compiled to numbers: streams, channels, queues, references and events, so that
// the rules of rank-model.ts compare integers only.

import { assert, fail } from '../spec/error.ts'
import type { Operation } from '../spec/operation.ts'
import { operationsOf } from '../spec/rank-machine.ts'
import type { RankProgram } from '../spec/resolve-program.ts'
import { resolvePeer, resolveSteps } from '../spec/resolve-program.ts'
import type { Channel } from './channels.ts'

export interface CompiledOperation {
  readonly index: number
  readonly form: Operation
  /** Number of the FIFO that it enters, −1 if it enters none (or the CPU transport's). */
  readonly stream: number
  /** Device collectives and CPU posts: the channel they match on and the FIFO they stand in. */
  readonly channel: number
  readonly queue: number
  readonly name: string
  /** Operations (indices) that this one waits for, and how many steps ago they were launched. */
  readonly waitsFor: readonly number[]
  readonly waitsAgo: number
  readonly stepsAgo: number
  /** A compute kernel whose name marks it as the draft (fault `draft-stall`). */
  readonly isDraft: boolean
  readonly onCpu: boolean
  readonly thread: boolean
  readonly kind: 'compute' | 'transfer' | 'wait' | 'consume' | 'thread-post' | 'reply' | 'host'
}

/** Events of a rank by number. `move` + stream, `complete` + channel index, and so on. */
export interface RankEvents {
  readonly host: number
  readonly pollMiss: number
  readonly retire: number
  readonly move: number
  readonly match: number
  readonly arrive: number
  readonly meet: number
  readonly stall: number
  readonly die: number
  readonly throws: number
  readonly twice: number
  readonly draftStall: number
  readonly count: number
}

export function numberEvents(streams: number, channels: number, meetings: number): RankEvents {
  let next = 0
  const take = (count: number): number => {
    const first = next
    next += count
    return first
  }
  return {
    host: take(1),
    pollMiss: take(1),
    retire: take(1),
    stall: take(1),
    die: take(1),
    throws: take(1),
    twice: take(1),
    draftStall: take(1),
    move: take(streams),
    match: take(channels),
    arrive: take(channels),
    meet: take(meetings),
    count: next,
  }
}

/** Numbers streams, queues and references once, so that rules compare integers only. */
export function compileOperations(
  rank: number,
  program: RankProgram,
  context: {
    readonly channels: readonly Channel[]
    readonly meetings: readonly (readonly [number, number, string])[]
  },
) {
  const { channels, meetings } = context
  const { pp } = program
  const forms = operationsOf(program)
  const streams: string[] = []
  const queues: string[] = []
  const numberIn = (list: string[], name: string): number => {
    const known = list.indexOf(name)
    return known >= 0 ? known : list.push(name) - 1
  }
  const indicesOf = (name: string): number[] =>
    forms.flatMap((form, index) => ('name' in form && form.name === name ? [index] : []))
  const operations = forms.map((form, index): CompiledOperation => {
    const base = {
      index,
      form,
      stream: -1,
      channel: -1,
      queue: -1,
      name: nameOf(form),
      waitsFor: [] as number[],
      waitsAgo: 0,
      stepsAgo: 0,
      isDraft: false,
      onCpu: false,
      thread: false,
      kind: 'host' as const,
    }
    const waits = (operation: string, stepsAgo: number) => {
      const targets = indicesOf(operation)
      return { waitsFor: targets, waitsAgo: stepsAgo }
    }
    switch (form.do) {
      case 'launch':
        return {
          ...base,
          kind: 'compute',
          stream: numberIn(streams, form.stream),
          isDraft: form.name === 'draft',
        }
      case 'broadcast':
      case 'collective':
      case 'send':
      case 'receive': {
        const onCpu = form.stream === 'cpu'
        const peer = 'peer' in form ? resolvePeer(form.peer, rank, pp) : undefined
        const channel = channels.findIndex(
          (c) =>
            c.communicator === form.communicator &&
            c.device === !onCpu &&
            c.members.includes(rank) &&
            (peer === undefined ? !c.pair : c.pair && c.members.includes(peer)),
        )
        assert(channel >= 0, `rank ${rank}: no channel for ${form.name}`)
        const partner = channels[channel].ordered === 'pair' ? peer : ''
        const queueName = `${onCpu}/${form.communicator}/${partner}`
        return {
          ...base,
          kind: form.thread === undefined ? 'transfer' : 'thread-post',
          stream: onCpu
            ? form.thread === undefined
              ? -1
              : numberIn(streams, form.thread)
            : numberIn(streams, form.stream),
          channel,
          queue: numberIn(queues, queueName),
          stepsAgo: resolveSteps(form.stepsAgo ?? 0, pp),
          onCpu,
          thread: form.thread !== undefined,
        }
      }
      case 'stream-wait':
        return {
          ...base,
          kind: 'wait',
          stream: numberIn(streams, form.stream),
          ...waits(form.for.operation, resolveSteps(form.for.stepsAgo, pp)),
        }
      case 'host-wait':
      case 'poll':
        return { ...base, ...waits(form.for.operation, resolveSteps(form.for.stepsAgo, pp)) }
      case 'reply':
        return {
          ...base,
          kind: 'reply',
          stream: numberIn(streams, 'reply'),
          ...waits(form.after.operation, resolveSteps(form.after.stepsAgo, pp)),
        }
      case 'consume':
        return {
          ...base,
          kind: 'consume',
          stream: form.on === 'host' ? -1 : numberIn(streams, form.on),
          waitsFor: indicesOf(form.after),
          stepsAgo: resolveSteps(form.stepsAgo, pp),
        }
      case 'check-header':
        return { ...base, waitsFor: indicesOf(form.header) }
      case 'rendezvous': {
        const peer = resolvePeer(form.peer, rank, pp)
        const channel = meetings.findIndex(
          ([a, b, name]) =>
            name === form.name && ((a === rank && b === peer) || (b === rank && a === peer)),
        )
        return { ...base, channel }
      }
      default:
        return base
    }
  })
  if (operations.length > 1023) fail('PPC205', `rank ${rank} has more than 1023 operations`)
  return { operations, streams }
}

/** Names of all buffers that outlive a step, in a fixed order. */
export const buffersOf = (operations: readonly CompiledOperation[]): string[] => {
  const names = operations.flatMap(({ form }) => [
    ...('reads' in form ? (form.reads ?? []) : []),
    ...('writes' in form ? (form.writes ?? []) : []),
    ...('buffer' in form ? [form.buffer] : []),
  ])
  return [...new Set(names)].sort()
}

const nameOf = (form: Operation): string =>
  'name' in form
    ? form.name
    : form.do === 'stream-wait'
      ? `the wait for ${form.for.operation}`
      : form.do
