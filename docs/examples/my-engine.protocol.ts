// A small engine to start from: a pipeline that hands activations from rank to rank, and whose last
// rank broadcasts what it sampled. Change it until it is your engine; a program is a list of what
// the host thread asks for, in the order in which its source asks.
//
//   npx ppcheck explore ./my-engine.protocol.ts                   it freezes
//   npx ppcheck explore ./my-engine.protocol.ts --window 3        a smaller window: it holds
//   npx ppcheck explore ./my-engine.protocol.ts --resident 3      a larger device: it holds
//   npx ppcheck export ./my-engine.protocol.ts --rank 0           a picture of what is explored

import {
  broadcast,
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

// What a transfer needs: who is in it (communicator), where it runs (a stream of the device, or
// 'cpu' for a Gloo-like transport), and what it carries. R is the number of requests of the batch.
const activation = { communicator: 'neighbour', dtype: 'bfloat16', shape: ['R', 4096] } as const
const receiveActivation = receive('receive-activation', {
  ...activation,
  stream: 'activation-receive',
  peer: 'previous',
})
const sendActivation = send('send-activation', {
  ...activation,
  stream: 'activation-send',
  peer: 'next',
})
const tokens = broadcast('tokens', {
  communicator: 'token',
  stream: 'broadcast',
  root: 'last',
  dtype: 'int64',
  shape: ['R', 1],
})

export const relay = defineProtocol({
  name: 'relay',
  summary: 'activations from neighbour to neighbour, sampled tokens from the last rank to all',
  communicators: {
    neighbour: { kind: 'pair' }, // one communicator for each pair of neighbours
    token: { kind: 'group' }, // one for all ranks
  },
  roles: {
    // Every rank but the last. An operation whose peer does not exist (the previous of rank 0) is
    // left out by itself.
    others: {
      // The engine's call execute_model(t).
      execute: [
        receiveActivation,
        // The tokens of pp steps ago are needed now: the main stream waits for them.
        consume({
          on: 'main',
          stepsAgo: 'pp',
          after: 'tokens',
          adopts: ['tokens'],
          generationCheck: true,
        }),
        streamWait('main', done('receive-activation')),
        launch('forward', { stream: 'main' }),
        streamWait('activation-send', done('forward')),
        sendActivation,
      ],
      // The engine's call sample_tokens(t): post the receive, remember it, go on.
      sample: [streamWait('broadcast', done('forward')), tokens, pend()],
    },
    last: {
      execute: [
        receiveActivation,
        streamWait('main', done('receive-activation')),
        launch('forward', { stream: 'main' }),
      ],
      sample: [
        launch('sample', { stream: 'main' }),
        reply(done('sample')), // from here on the engine may send the next step
        streamWait('broadcast', done('sample')),
        tokens,
      ],
    },
  },
})

export default defineScenario({
  name: 'my-engine',
  protocol: relay,
  // pp ranks, and one step more in flight than there are ranks.
  topology: { pp: 3, window: 4 },
  // How many collectives can spin on a device at once. No protocol chooses that; it is assumed.
  device: { residentCollectives: 2, launchOrder: 'free' },
  // What a step may be; the checker tries every order of them. Others: { mask: 'empty' },
  // { requests: 2 }, { proposal: false }.
  workload: { choices: [{}] },
})
