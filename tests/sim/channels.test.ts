// Who matches with whom, and in which order a rank meets its channels.

import { expect, test } from 'vitest'
import { channelName, channelsOf } from '../../sim/channels.ts'
import { broadcast, done, launch, receive, reply, send } from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'

const shape = { stream: 'main', dtype: 'int32', shape: [1] } as const
const work = { execute: [launch('work', { stream: 'main' })], sample: [reply(done('work'))] }

test('ranks with the same program meet their peers in the same order, also beyond rank 9', () => {
  const to = (peer: number) => send(`to ${peer}`, { ...shape, communicator: 'hop', peer })
  const protocol = defineProtocol({
    name: 'star',
    summary: 'everyone sends to ranks 7 and 10',
    communicators: { hop: { kind: 'pair' } },
    roles: { others: { execute: [to(10), to(7)], sample: [] }, last: work },
  })
  const channels = channelsOf(protocol, 12)
  for (const rank of [0, 5, 8, 9]) {
    const mine = channels.filter(({ members }) => members.includes(rank))
    const peers = mine.map(({ members }) => members.find((member) => member !== rank))
    expect(peers).toEqual([7, 10])
  }
})

test('a group has a channel for all and one for each pair; device and CPU are apart', () => {
  const all = { communicator: 'group', root: 'last' } as const
  const protocol = defineProtocol({
    name: 'mixed',
    summary: 'broadcasts and messages on one communicator',
    communicators: { group: { kind: 'group' } },
    roles: {
      others: {
        execute: [
          broadcast('tokens', { ...shape, ...all }),
          broadcast('tokens on the host', { ...shape, ...all, stream: 'cpu' }),
          send('out', { ...shape, communicator: 'group', peer: 'next' }),
          receive('in', { ...shape, communicator: 'group', peer: 'previous' }),
        ],
        sample: [],
      },
      last: work,
    },
  })
  const channels = channelsOf(protocol, 3)
  expect(channels.map((channel) => `${channelName(channel)} ${channel.device}`)).toEqual([
    'group 0-1 true',
    'group 1-2 true',
    'group true',
    'group false',
  ])
  expect(channels.every(({ index }, position) => index === position)).toBe(true)
})
