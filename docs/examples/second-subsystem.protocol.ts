// Two subsystems, two communicators, one device. An expert rebalancer lets all ranks exchange their
// load counters beside the token broadcast. Each subsystem is sound by itself, and nothing orders
// one against the other. Rank 0, done with its forward pass, begins to wait for the exchange and for
// the tokens: its device is full, its activations cannot leave, and without them no other rank ever
// gets to the exchange or to the tokens.
//
//   npx ppcheck explore docs/examples/second-subsystem.protocol.ts
//   npx ppcheck explore docs/examples/second-subsystem.protocol.ts --resident 3   room for all
//   npx ppcheck explore docs/examples/second-subsystem.protocol.ts#crossed   two orders
//   npx ppcheck explore docs/examples/second-subsystem.protocol.ts#mended    one order

import type { Operation, Protocol, StreamName } from 'ppcheck'
import {
  broadcast,
  collective,
  consume,
  defineProtocol,
  defineScenario,
  done,
  launch,
  pend,
  receive,
  reply,
  send,
  streamWait,
} from 'ppcheck'

const activation = { communicator: 'neighbour', dtype: 'bfloat16', shape: [1] } as const

const receiveActivation: Operation[] = [
  receive('receive-activation', {
    ...activation,
    stream: 'activation-receive',
    peer: 'previous',
  }),
  streamWait('main', done('receive-activation')),
]

/** The token broadcast; receivers keep it pending and adopt it one turn of the pipeline later. */
const sampledTokens = broadcast('sampled', {
  communicator: 'token',
  stream: 'broadcast',
  root: 'last',
  dtype: 'int64',
  shape: ['R', 1],
})

const adoptTokens = consume({
  on: 'main',
  stepsAgo: 'pp',
  after: 'sampled',
  adopts: ['sampled'],
  generationCheck: true,
})

/**
 * The rebalancer's part of a step: all ranks reduce how many tokens each expert saw. The real one
 * runs every few hundred steps; an exchange in every step meets the same interleavings sooner.
 */
const exchangeOn = (stream: StreamName): Operation[] => [
  streamWait(stream, done('forward')),
  collective('expert-load', { communicator: 'experts', stream, dtype: 'int32', shape: [64] }),
]

interface Placement {
  /** Stream of the exchange. */
  readonly stream: StreamName
  /** When the last rank launches it; the others always do so before the tokens. */
  readonly onLast: 'before-tokens' | 'after-tokens'
}

function engine(name: string, { stream, onLast }: Placement): Protocol {
  const exchange = exchangeOn(stream)
  return defineProtocol({
    name,
    summary: `token broadcast, and an expert rebalancer on stream ${stream}`,
    communicators: {
      neighbour: { kind: 'pair' },
      token: { kind: 'group' },
      experts: { kind: 'group' },
    },
    roles: {
      others: {
        execute: [
          ...receiveActivation,
          adoptTokens,
          launch('forward', { stream: 'main' }),
          streamWait('activation-send', done('forward')),
          send('send-activation', { ...activation, stream: 'activation-send', peer: 'next' }),
          ...exchange,
        ],
        sample: [streamWait('broadcast', done('forward')), sampledTokens, pend()],
      },
      last: {
        execute: [
          ...receiveActivation,
          launch('forward', { stream: 'main' }),
          ...(onLast === 'before-tokens' ? exchange : []),
        ],
        sample: [
          launch('sample', { stream: 'main' }),
          reply(done('sample')),
          streamWait('broadcast', done('sample')),
          sampledTokens,
          ...(onLast === 'after-tokens' ? exchange : []),
        ],
      },
    },
  })
}

const scenario = (protocol: Protocol) =>
  defineScenario({
    name: protocol.name,
    protocol,
    topology: { pp: 3, window: 3, drafts: 0 },
    // Room for two: enough for the activations and the tokens, which were there first.
    device: { residentCollectives: 2, launchOrder: 'free' },
  })

/** A stream of its own, "so that it does not disturb": nothing says who goes first. */
export default scenario(engine('second-subsystem', { stream: 'experts', onLast: 'before-tokens' }))

/** One stream for both, but the sampler's rank turns them round: no number of places helps. */
export const crossed = scenario(
  engine('second-subsystem-crossed', { stream: 'broadcast', onLast: 'after-tokens' }),
)

/** The twin: one stream for both, and the same order on every rank. */
export const mended = scenario(
  engine('second-subsystem-mended', { stream: 'broadcast', onLast: 'before-tokens' }),
)
