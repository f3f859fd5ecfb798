// Channels: who matches with whom. A group communicator has one channel over its members and one
// for each pair that exchanges point-to-point messages on it; a pair communicator has the latter.

import { isTransfer } from '../spec/operation.ts'
import type { Protocol } from '../spec/program.ts'
import { operationsOf } from '../spec/rank-machine.ts'
import { programOf, resolvePeer } from '../spec/resolve-program.ts'

export interface Channel {
  readonly index: number
  readonly communicator: string
  /** On the device (needs a place) or on the CPU transport. */
  readonly device: boolean
  /** Point-to-point between two ranks, or a collective of all members. */
  readonly pair: boolean
  /** How the communicator orders its operations on one rank. */
  readonly ordered: 'group' | 'pair'
  readonly members: readonly number[]
}

/** A short name for stories: `token`, `neighbour 1-2`. */
export const channelName = (channel: Channel): string =>
  channel.pair ? `${channel.communicator} ${channel.members.join('-')}` : channel.communicator

/** All channels that some rank's program uses, in a canonical order. */
export function channelsOf(protocol: Protocol, pp: number): Channel[] {
  const found = new Map<string, Omit<Channel, 'index'>>()
  for (let rank = 0; rank < pp; rank++) {
    for (const form of operationsOf(programOf(protocol, rank, pp))) {
      if (!isTransfer(form)) continue
      const device = form.stream !== 'cpu'
      const peer = 'peer' in form ? resolvePeer(form.peer, rank, pp) : undefined
      const pair = peer !== undefined
      const members = pair
        ? [rank, peer].sort((a, b) => a - b)
        : Array.from({ length: pp }, (_, r) => r)
      // Padded: ranks of one role must meet their channels in one order, also beyond rank 9.
      const who = members.map((member) => String(member).padStart(2, '0')).join('-')
      const key = `${form.communicator}/${device ? 0 : 1}/${pair ? who : 'all'}`
      const ordered = protocol.communicators[form.communicator].kind
      found.set(key, { communicator: form.communicator, device, pair, ordered, members })
    }
  }
  const order = [...found.entries()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return order.map(([, channel], index) => ({ index, ...channel }))
}

/** All host rendezvous as [lower rank, higher rank, name]. */
export function meetingsOf(protocol: Protocol, pp: number): (readonly [number, number, string])[] {
  const found = new Map<string, readonly [number, number, string]>()
  for (let rank = 0; rank < pp; rank++) {
    for (const form of operationsOf(programOf(protocol, rank, pp))) {
      if (form.do !== 'rendezvous') continue
      const peer = resolvePeer(form.peer, rank, pp)
      if (peer === undefined) continue
      const [low, high] = [Math.min(rank, peer), Math.max(rank, peer)]
      found.set(`${low}-${high}-${form.name}`, [low, high, form.name])
    }
  }
  return [...found.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : 1))
}
