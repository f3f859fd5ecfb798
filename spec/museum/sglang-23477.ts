// Both ends of a pair send first.

import { receive, send } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const form = { communicator: 'pair', dtype: 'bfloat16', shape: [8], stream: 'main' } as const
const engine = (name: string, inverted: boolean): Scenario => {
  const out = send('output', { ...form, peer: 'last' })
  const back = receive('proxy', { ...form, peer: 'last' })
  return staged(
    peers(name, {
      summary: 'two stages exchange their outputs',
      communicators: { pair: { kind: 'pair' } },
      first: inverted
        ? [receive('output', { ...form, peer: 'last' }), send('proxy', { ...form, peer: 'last' })]
        : [out, back],
      last: [
        send('output', { ...form, peer: 'first' }),
        receive('proxy', { ...form, peer: 'first' }),
      ],
    }),
  )
}

export const sglang23477 = defineCase({
  id: 'sglang-23477',
  family: 'E07',
  reports: [{ id: 'sglang#23477', url: 'https://github.com/sgl-project/sglang/pull/23477' }],
  mechanism:
    'Both stages send their output to each other before they receive, on one pair ' +
    'and without buffering; neither send can end.',
  engine: 'SGLang, PP2 on NPU',
  knobs: ['order'],
  inferred:
    'That both send first; the report says that the order was wrong and inverts ' +
    'it on all but the last stage.',
  exhibits: [
    {
      when: 'before',
      name: 'both send first',
      violates: 'P1',
      scenario: () => engine('both-send', false),
    },
    { when: 'after', name: 'one receives first', scenario: () => engine('inverted', true) },
  ],
})
