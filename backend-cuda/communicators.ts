// Which communicators a protocol needs on GPUs: one for each pair of neighbours, one for a
// group, and a sibling for every further group. All ranks compute the same list in the same
// order, because splitting is collective.

import { isTransfer } from '../spec/operation.ts'
import type { Protocol } from '../spec/program.ts'
import { programOf, resolvePeer, transfersOf } from '../spec/resolve-program.ts'

export interface CommunicatorPlan {
  /** `token`, or `neighbour 1-2`: also what reports call it. */
  readonly key: string
  readonly members: readonly number[]
  /** Key of the group that it may be split from. */
  readonly siblingOf?: string
}

/** The key of the communicator that a transfer uses on this rank. */
export const communicatorKey = (
  protocol: Protocol,
  name: string,
  rank: number,
  peer: number | undefined,
): string => {
  if (protocol.communicators[name].kind === 'group' || peer === undefined) return name
  return `${name} ${Math.min(rank, peer)}-${Math.max(rank, peer)}`
}

export function communicatorsOf(protocol: Protocol, pp: number): CommunicatorPlan[] {
  const everyone = Array.from({ length: pp }, (_, rank) => rank)
  const plans = new Map<string, CommunicatorPlan>()
  let firstGroup: string | undefined
  for (const rank of everyone) {
    for (const form of transfersOf(programOf(protocol, rank, pp))) {
      if (!isTransfer(form) || form.stream === 'cpu') continue
      const peer = 'peer' in form ? resolvePeer(form.peer, rank, pp) : undefined
      const key = communicatorKey(protocol, form.communicator, rank, peer)
      if (plans.has(key)) continue
      if (protocol.communicators[form.communicator].kind === 'pair' && peer !== undefined) {
        plans.set(key, { key, members: [rank, peer].sort((a, b) => a - b) })
        continue
      }
      plans.set(key, {
        key,
        members: everyone,
        ...(firstGroup === undefined ? {} : { siblingOf: firstGroup }),
      })
      firstGroup ??= key
    }
  }
  return [...plans.values()]
}
