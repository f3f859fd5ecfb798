// An ablation of one's own: two changes to a small engine, and which of them is enough.
// Run it with `npx ppcheck ablate docs/examples/relay-fixes.ablation.ts`.

import {
  broadcast,
  defineAblation,
  defineProtocol,
  defineScenario,
  done,
  launch,
  type Protocol,
  pend,
  reply,
  when,
} from 'ppcheck'

/** The last rank posts nothing for an empty mask; do the others do the same, or always receive? */
function relay(applied: ReadonlySet<string>): Protocol {
  const tokens = broadcast('tokens', {
    communicator: 'token',
    stream: 'broadcast',
    root: 'last',
    dtype: 'int64',
    shape: ['R', 1],
  })
  const always = applied.has('always-post')
  const gated = when(['mask'], tokens)
  return defineProtocol({
    name: 'relay',
    summary: 'sampled tokens from the last rank to all, if there are any',
    communicators: { token: { kind: 'group' } },
    roles: {
      others: {
        execute: [launch('forward', { stream: 'main' })],
        sample: [applied.has('gate-receive') && !always ? gated : tokens, pend()],
      },
      last: {
        execute: [launch('forward', { stream: 'main' })],
        sample: [
          launch('sample', { stream: 'main' }),
          reply(done('sample')),
          always ? tokens : gated,
        ],
      },
    },
  })
}

export default defineAblation({
  name: 'two ways to mend a data-dependent schedule',
  fixes: [
    { id: 'always-post', summary: 'the last rank posts in every step' },
    { id: 'gate-receive', summary: 'receivers look at the mask as the last rank does' },
  ],
  scenario: (applied) =>
    defineScenario({
      name: 'relay',
      protocol: relay(applied),
      topology: { pp: 3, window: 3 },
      workload: { choices: [{}, { mask: 'empty' }] },
      properties: ['P1', 'P2', 'P3', 'P10'],
    }),
})
