// The two shapes of engine that nearly all cases share: a pipeline whose last rank returns tokens,
// and peers that meet in collectives. A case fills in only what its report is about.

import type { Operation } from '../operation.ts'
import { broadcast, consume, done, launch, receive, reply, send, streamWait } from '../operation.ts'
import { type CommunicatorForm, defineProtocol, type Protocol } from '../program.ts'
import { defineScenario, type Scenario, type ScenarioInput } from '../scenario.ts'

type TransferForm = Parameters<typeof broadcast>[1]
type ConsumeForm = Parameters<typeof consume>[0]

const activation = { communicator: 'neighbour', dtype: 'bfloat16', shape: [1] } as const

/** Receives the activations of the rank before; rank 0 has none and leaves it out. */
export const receiveActivation = (more: Partial<TransferForm> = {}): Operation =>
  receive('receive-activation', {
    ...activation,
    stream: 'activation-receive',
    ...more,
    peer: 'previous',
  })

/** Hands the activations to the next rank once the forward pass is done. */
export const sendActivation = (more: Partial<TransferForm> = {}): Operation[] => [
  streamWait('activation-send', done('forward')),
  send('send-activation', { ...activation, stream: 'activation-send', ...more, peer: 'next' }),
]

export const forward: Operation = launch('forward', { stream: 'main' })

/** The broadcast of the sampled tokens, int64 [R, 1], from the last rank on a stream of its own. */
export const sampled = (more: Partial<TransferForm> = {}): Operation =>
  broadcast('sampled', {
    communicator: 'token',
    stream: 'broadcast',
    root: 'last',
    dtype: 'int64',
    shape: ['R', 1],
    ...more,
  })

/** The broadcast of how many were sampled and rejected, int32 [2, R]. */
export const counts = (more: Partial<TransferForm> = {}): Operation =>
  broadcast('counts', {
    communicator: 'token',
    stream: 'broadcast',
    root: 'last',
    dtype: 'int32',
    shape: [2, 'R'],
    ...more,
  })

/** Takes the tokens of pp steps ago, as Model Runner V2 does. */
export const adopt = (more: Partial<ConsumeForm> = {}): Operation =>
  consume({
    on: 'main',
    stepsAgo: 'pp',
    after: 'sampled',
    adopts: ['sampled'],
    generationCheck: true,
    ...more,
  })

/** After the work of a step on the main stream; for the stream that broadcasts. */
export const afterForward: Operation = streamWait('broadcast', done('forward'))
export const afterSample: Operation = streamWait('broadcast', done('sample'))

interface PipelineParts {
  readonly summary: string
  /** Every rank but the last: before the forward pass, and on the engine's sample call. */
  readonly consumes?: readonly Operation[]
  readonly receives: readonly Operation[]
  /** The last rank, after it launched the sampler and allowed the reply. */
  readonly sends: readonly Operation[]
  /** Work after the forward pass, on every rank (a rebalancer, a logger). */
  readonly beside?: readonly Operation[]
  /** Replaces how activations arrive, and how they are handed on. */
  readonly arrives?: Operation
  readonly hands?: readonly Operation[]
  /** Replaces the forward pass. */
  readonly computes?: readonly Operation[]
  readonly idle?: { readonly others?: readonly Operation[]; readonly last?: readonly Operation[] }
  readonly communicators?: Readonly<Record<string, CommunicatorForm>>
}

/** Activations from rank to rank; the last rank samples and answers. */
export function pipeline(name: string, parts: PipelineParts): Protocol {
  const { consumes = [adopt()], receives, sends, beside = [], idle = {} } = parts
  const { hands = sendActivation(), computes = [forward] } = parts
  const { arrives: arrival = receiveActivation() } = parts
  const arrives = [arrival, streamWait('main', done('receive-activation'))]
  return defineProtocol({
    name,
    summary: parts.summary,
    communicators: {
      neighbour: { kind: 'pair' },
      token: { kind: 'group' },
      ...parts.communicators,
    },
    roles: {
      others: {
        execute: [...consumes, ...arrives, ...computes, ...hands, ...beside],
        sample: receives,
        ...(idle.others === undefined ? {} : { idle: idle.others }),
      },
      last: {
        execute: [...arrives, ...computes, ...beside],
        sample: [launch('sample', { stream: 'main' }), reply(done('sample')), ...sends],
        ...(idle.last === undefined ? {} : { idle: idle.last }),
      },
    },
  })
}

interface PeerParts {
  readonly summary: string
  /** Rank 0, the last rank, and those between; the middle does as rank 0 unless it is given. */
  readonly first: readonly Operation[]
  readonly middle?: readonly Operation[]
  readonly last: readonly Operation[]
  readonly communicators?: Readonly<Record<string, CommunicatorForm>>
  readonly idle?: { readonly first?: readonly Operation[]; readonly last?: readonly Operation[] }
}

const step: Operation = launch('step', { stream: 'main' })

/** Ranks side by side (tensor, data or expert parallel, or processes): a list of work a step. */
export function peers(name: string, parts: PeerParts): Protocol {
  const { first, middle = first, last, idle = {} } = parts
  return defineProtocol({
    name,
    summary: parts.summary,
    communicators: { group: { kind: 'group' }, ...parts.communicators },
    roles: {
      first: {
        execute: [step],
        sample: first,
        ...(idle.first === undefined ? {} : { idle: idle.first }),
      },
      others: { execute: [step], sample: middle },
      last: {
        execute: [step, reply(done('step'))],
        sample: last,
        ...(idle.last === undefined ? {} : { idle: idle.last }),
      },
    },
  })
}

/**
 * A scenario of two ranks and two steps in flight, with room on every device, unless said
 * otherwise: what a case is not about must not be what breaks it.
 */
export const staged = (
  protocol: Protocol,
  { pp = 2, window, ...more }: StageChanges = {},
): Scenario =>
  defineScenario({
    name: protocol.name,
    topology: { pp, window: window ?? pp },
    device: { residentCollectives: 4 },
    ...more,
    protocol,
  })

type StageChanges = Partial<Omit<ScenarioInput, 'protocol' | 'topology' | 'name'>> & {
  readonly pp?: number
  readonly window?: number
}
