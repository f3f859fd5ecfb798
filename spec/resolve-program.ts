// What one rank runs of a protocol: its role, with peers and offsets as numbers. Apart from the
// checks of program.ts, because it is loaded wherever a search runs, without a schema library.

import type { Operation, Peer, StepsAgo, TransferOperation } from './operation.ts'
import { isTransfer } from './operation.ts'
import type { Protocol } from './program.ts'

/** The program of one rank: a role whose peers and offsets are numbers. */
export interface RankProgram {
  readonly rank: number
  readonly pp: number
  readonly execute: readonly Operation[]
  readonly sample: readonly Operation[]
  readonly idle: readonly Operation[]
}

/** Rank number of a peer, or undefined where the rank has none (the previous of rank 0). */
export function resolvePeer(peer: Peer, rank: number, pp: number): number | undefined {
  const resolved =
    peer === 'previous'
      ? rank - 1
      : peer === 'next'
        ? rank + 1
        : peer === 'first'
          ? 0
          : peer === 'last'
            ? pp - 1
            : peer
  return resolved >= 0 && resolved < pp ? resolved : undefined
}

/** Steps as a number: `pp` means one full turn of the pipeline. */
export const resolveSteps = (steps: StepsAgo, pp: number): number => (steps === 'pp' ? pp : steps)

/**
 * The program of one rank. An operation whose peer does not exist on this rank (the previous of
 * rank 0, the next of the last rank) is left out, so that one list serves every rank of a role.
 */
export function programOf(protocol: Protocol, rank: number, pp: number): RankProgram {
  const { last, others, first } = protocol.roles
  const role = rank === pp - 1 ? last : rank === 0 ? (first ?? others) : others
  const here = (operations: readonly Operation[] = []) =>
    operations.filter((operation) => {
      if (!('peer' in operation)) return true
      const peer = resolvePeer(operation.peer, rank, pp)
      return peer !== undefined && peer !== rank
    })
  return {
    rank,
    pp,
    execute: here(role.execute),
    sample: here(role.sample),
    idle: here(role.idle),
  }
}

/** All transfers of a program, in program order. */
export const transfersOf = (program: RankProgram): TransferOperation[] =>
  [...program.execute, ...program.sample, ...program.idle].filter(isTransfer)
