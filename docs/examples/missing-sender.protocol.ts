// A rebase took over the token receive of the earlier ranks and lost the send of the last one (the
// public case is vllm-omni #7393). Every file compiles, prefill works, and the first decode freezes.
//
//   npx ppcheck explore docs/examples/missing-sender.protocol.ts
//   npx ppcheck explore docs/examples/missing-sender.protocol.ts --property P1   under load
//   npx ppcheck explore docs/examples/missing-sender.protocol.ts#mended

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

const activation = { communicator: 'neighbour', dtype: 'bfloat16', shape: [1] } as const

const tokens = broadcast('tokens', {
  communicator: 'token',
  stream: 'main',
  root: 'last',
  dtype: 'int64',
  shape: ['R', 1],
})

const relay = (name: string, lastSends: boolean) =>
  defineProtocol({
    name,
    summary: 'one token broadcast a step on the main stream, as early Model Runner V2 had it',
    communicators: { neighbour: { kind: 'pair' }, token: { kind: 'group' } },
    roles: {
      others: {
        execute: [
          receive('activation', { ...activation, stream: 'receive', peer: 'previous' }),
          consume({
            on: 'main',
            stepsAgo: 'pp',
            after: 'tokens',
            adopts: ['tokens'],
            generationCheck: true,
          }),
          streamWait('main', done('activation')),
          launch('forward', { stream: 'main' }),
          streamWait('send', done('forward')),
          send('hand-over', { ...activation, stream: 'send', peer: 'next' }),
        ],
        sample: [tokens, pend()],
      },
      last: {
        execute: [
          receive('activation', { ...activation, stream: 'receive', peer: 'previous' }),
          streamWait('main', done('activation')),
          launch('forward', { stream: 'main' }),
        ],
        sample: [
          launch('sample', { stream: 'main' }),
          reply(done('sample')),
          ...(lastSends ? [tokens] : []),
        ],
      },
    },
  })

const shape = { topology: { pp: 3, window: 3 }, device: { residentCollectives: 3 } }

export default defineScenario({
  ...shape,
  name: 'missing-sender',
  protocol: relay('missing-sender', false),
})

export const mended = defineScenario({
  ...shape,
  name: 'missing-sender, mended',
  protocol: relay('sender-restored', true),
})
