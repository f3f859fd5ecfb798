// The family of protocols of the field report (vllm#53402): one program with the switches that the
// ladder of fixes turned. Each rung is a small file beside this one; the program itself is written
// once, here, in the order in which the engine's source performs it.

import type { Dimension, Operation, TransferOperation } from '../operation.ts'
import {
  broadcast,
  checkHeader,
  consume,
  done,
  freeRows,
  hostWait,
  launch,
  pend,
  receive,
  rendezvous,
  reply,
  send,
  streamWait,
  when,
} from '../operation.ts'
import type { Protocol } from '../program.ts'
import { defineProtocol } from '../program.ts'

/** The switches of the ladder. Every one can be overridden by itself. */
export interface Switches {
  /** `fixed`: all payloads every step. `gated`: by the rank's own mask. `always`: drafts anyway. */
  readonly schedule: 'fixed' | 'gated' | 'always'
  /** `int64-rows` carries a digest of rows and generations in place of the hash of the mask. */
  readonly header: 'none' | 'int32' | 'int64' | 'int64-rows'
  /** Where a receiver validates the header: before it posts the rest, or when it consumes. */
  readonly headerCheck: 'host' | 'consume'
  /** What carries the token payloads. Activations always use NCCL. */
  readonly transport: 'nccl' | 'gloo'
  /** How hosts of a CPU transport wait for what they receive. */
  readonly receive: 'blocking' | 'draft-deferred' | 'deferred'
  /** Who waits for the GPU and posts on a CPU transport: the host or a thread of its own. */
  readonly send: 'host' | 'offloaded'
  readonly draftExecution: 'full-graph' | 'eager'
  /** Is the activation metadata a host rendezvous (Gloo object send) or nothing? */
  readonly activationMetadata: 'rendezvous' | 'none'
  /** One communicator a neighbour pair, or the PP group's own for both directions. */
  readonly activationCommunicator: 'pair' | 'group'
  /** Tokens on a sibling communicator, or on the one that carries activations. */
  readonly tokenCommunicator: 'sibling' | 'shared'
}

/** Hidden states have the size of the scheduled tokens, on which ranks agree in any case. */
const activationShape: readonly Dimension[] = [1]
const sampledShape: readonly Dimension[] = ['R', 'K+1']
const countsShape: readonly Dimension[] = [2, 'R']
const draftsShape: readonly Dimension[] = ['R', 'K']

/** Builds the protocol of one setting of the switches. */
export function fieldReport(name: string, summary: string, switches: Switches): Protocol {
  const activation = switches.activationCommunicator === 'group' ? 'pipeline' : 'neighbour'
  const token = switches.tokenCommunicator === 'shared' ? 'pipeline' : 'token'
  return defineProtocol({
    name,
    summary,
    communicators: {
      ...(activation === 'neighbour' ? { neighbour: { kind: 'pair' } as const } : {}),
      ...(activation === 'pipeline' || token === 'pipeline'
        ? { pipeline: { kind: 'group' } as const }
        : {}),
      ...(token === 'token' ? { token: { kind: 'group' } as const } : {}),
    },
    roles: {
      others: {
        execute: [
          streamWait('main', done('send-activation', 1)),
          ...receiveActivation(switches, activation),
          consumption(switches),
          ...frees,
          streamWait('main', done('receive-activation')),
          launch('forward', { stream: 'main' }),
          ...metadata(switches, 'next'),
          streamWait('activation-send', done('forward')),
          send('send-activation', {
            stream: 'activation-send',
            communicator: activation,
            peer: 'next',
            dtype: 'bfloat16',
            shape: activationShape,
          }),
        ],
        sample: receiveTokens(switches, token),
      },
      last: {
        execute: [
          ...receiveActivation(switches, activation),
          streamWait('main', done('receive-activation')),
          launch('forward', { stream: 'main' }),
        ],
        sample: sendTokens(switches, token),
      },
    },
  })
}

const frees = [freeRows()]

const metadata = (switches: Switches, peer: 'previous' | 'next'): Operation[] =>
  switches.activationMetadata === 'rendezvous' ? [rendezvous('metadata', peer)] : []

const receiveActivation = (switches: Switches, communicator: string): Operation[] => [
  ...metadata(switches, 'previous'),
  receive('receive-activation', {
    stream: 'activation-receive',
    communicator,
    peer: 'previous',
    dtype: 'bfloat16',
    shape: activationShape,
  }),
]

const headerFields = {
  int32: ['seq', 'mask_hash'],
  int64: ['seq', 'mask_hash', 'num_reqs'],
  'int64-rows': ['seq', 'row_digest', 'num_reqs'],
} as const

/** The four payloads in wire order; those that the schedule gates carry their guard. */
function payloads(switches: Switches, token: string, side: 'root' | 'receiver') {
  const thread =
    side === 'root' && switches.transport === 'gloo' && switches.send === 'offloaded'
      ? ({ thread: 'sender' } as const)
      : {}
  const rest = {
    communicator: token,
    stream: switches.transport === 'gloo' ? 'cpu' : 'broadcast',
    root: 'last',
    ...thread,
  } as const
  const gated = switches.schedule !== 'fixed'
  const draftGuard =
    switches.schedule === 'fixed'
      ? []
      : side === 'root'
        ? (['mask', 'proposal'] as const)
        : switches.schedule === 'gated'
          ? (['mask'] as const)
          : []
  const guard = gated ? (['mask'] as const) : []
  return {
    header:
      switches.header === 'none'
        ? []
        : [
            broadcast('header', {
              ...rest,
              dtype: switches.header === 'int32' ? 'int32' : 'int64',
              shape: [switches.header === 'int32' ? 2 : 3],
              header: { fields: headerFields[switches.header], sequence: 'before-enqueue' },
            }),
          ],
    sampled: when(guard, broadcast('sampled', { ...rest, dtype: 'int64', shape: sampledShape })),
    counts: when(guard, broadcast('counts', { ...rest, dtype: 'int32', shape: countsShape })),
    drafts: when(draftGuard, broadcast('drafts', { ...rest, dtype: 'int64', shape: draftsShape })),
  }
}

function receiveTokens(switches: Switches, token: string): Operation[] {
  const { header, sampled, counts, drafts } = payloads(switches, token, 'receiver')
  const checkOnHost = header.length > 0 && switches.headerCheck === 'host'
  if (switches.transport === 'nccl') {
    return [
      streamWait('broadcast', done('forward')),
      ...header,
      ...(checkOnHost ? [checkHeader('header')] : []),
      sampled,
      counts,
      drafts,
      pend(),
    ]
  }
  const waits = (...operations: TransferOperation[]): Operation[] =>
    operations.flatMap((operation): Operation[] =>
      switches.receive === 'deferred'
        ? [operation]
        : [operation, when(operation.when ?? [], hostWait(done(operation.name)))],
    )
  return [
    ...waits(...header),
    ...(checkOnHost && switches.receive !== 'deferred' ? [checkHeader('header')] : []),
    ...waits(sampled, counts),
    ...(switches.receive === 'blocking' ? waits(drafts) : [drafts]),
    pend(),
  ]
}

/** Step t − pp is consumed: by a stream wait on a GPU transport, by the host on a CPU one. */
function consumption(switches: Switches): Operation {
  const checkedHere =
    switches.header !== 'none' &&
    (switches.headerCheck === 'consume' ||
      (switches.transport === 'gloo' && switches.receive === 'deferred'))
  return consume({
    on: switches.transport === 'gloo' ? 'host' : 'main',
    stepsAgo: 'pp',
    after: 'drafts',
    adopts: ['sampled', 'counts', 'drafts'],
    ...(checkedHere ? { checks: 'header' } : {}),
    generationCheck: true,
  })
}

/**
 * The draft is launched in every step. A skipped proposal would only make it faster, so it is not
 * a guard of the program: whether one was made decides what is sent, not what runs.
 */
function sendTokens(switches: Switches, token: string): Operation[] {
  const { header, sampled, counts, drafts } = payloads(switches, token, 'root')
  const draft = launch('draft', {
    stream: 'main',
    exclusive: switches.draftExecution === 'full-graph',
  })
  const start = [launch('sample', { stream: 'main' }), reply(done('sample'))]
  if (switches.transport === 'nccl') {
    return [
      ...start,
      streamWait('broadcast', done('sample')),
      ...header,
      sampled,
      counts,
      draft,
      streamWait('broadcast', done('draft')),
      drafts,
    ]
  }
  const waitFor = (name: string) =>
    switches.send === 'offloaded' ? streamWait('sender', done(name)) : hostWait(done(name))
  return [...start, waitFor('sample'), ...header, sampled, counts, draft, waitFor('draft'), drafts]
}
