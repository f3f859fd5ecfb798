// Two subsystems, two communicators, one device. An expert rebalancer lets all ranks exchange their
// load counters beside the token broadcast. Each subsystem is sound by itself. Together they compete
// for the few collectives that a device holds at once, and nothing orders one against the other: a
// rank that waits for tokens holds a place which the exchange would need, on which the last rank
// depends before it can send those tokens.
//
//   npx ppcheck explore ./second-subsystem.protocol.ts
//   npx ppcheck explore ./second-subsystem.protocol.ts --resident 8    room for everybody
//   npx ppcheck explore ./second-subsystem.protocol.ts#mended          one order, kept by a stream

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
const exchange = (stream: StreamName): Operation[] => [
  streamWait(stream, done('forward')),
  collective('expert-load', { communicator: 'experts', stream, dtype: 'int32', shape: [64] }),
]

function engine(name: string, exchangeStream: StreamName): Protocol {
  const rebalance = exchange(exchangeStream)
  return defineProtocol({
    name,
    summary: `token broadcast, and an expert rebalancer on stream ${exchangeStream}`,
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
          ...rebalance,
        ],
        sample: [streamWait('broadcast', done('forward')), sampledTokens, pend()],
      },
      last: {
        execute: [...receiveActivation, launch('forward', { stream: 'main' }), ...rebalance],
        sample: [
          launch('sample', { stream: 'main' }),
          reply(done('sample')),
          streamWait('broadcast', done('sample')),
          sampledTokens,
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
    // Room for two collectives: enough for the activations and the tokens, which were there first.
    device: { residentCollectives: 2, launchOrder: 'free' },
  })

/** A stream of its own, so that "it does not disturb": nothing says who goes first. */
export default scenario(engine('second-subsystem', 'experts'))

/** The twin: both on one stream. Every rank starts the exchange first, then the tokens. */
export const mended = scenario(engine('second-subsystem-mended', 'broadcast'))
