// A protocol is data: for each role a readable list of operations. This file checks a protocol and
// resolves it for one rank. It must never depend on how a program is executed.

import { fail } from './error.ts'
import type { Operation, Peer, StepsAgo, TransferOperation } from './operation.ts'
import { isTransfer } from './operation.ts'

/** What one role does on the engine's two calls, and once when the engine has gone idle. */
export interface Role {
  /** `execute_model`: receive activations, consume, forward, send activations. */
  readonly execute: readonly Operation[]
  /** `sample_tokens`: sample or receive what was sampled. Not called for an empty step. */
  readonly sample: readonly Operation[]
  /** Runs when no further step will come (idle, pause, shutdown): flushes belong here. */
  readonly idle?: readonly Operation[]
}

/** How the ranks of a communicator are ordered against each other on one rank. */
export interface CommunicatorForm {
  /** `group`: one FIFO a rank for all its operations. `pair`: one FIFO for each peer. */
  readonly kind: 'group' | 'pair'
}

/** A whole protocol. `last` is rank pp − 1, the only one that samples; `others` are the rest. */
export interface Protocol {
  readonly name: string
  /** One or two sentences: what it is and where it comes from. */
  readonly summary: string
  readonly communicators: Readonly<Record<string, CommunicatorForm>>
  readonly roles: {
    readonly last: Role
    readonly others: Role
    /** Rank 0, where it differs from the others by more than having no previous rank. */
    readonly first?: Role
  }
}

/** The program of one rank: a role whose peers and offsets are numbers. */
export interface RankProgram {
  readonly rank: number
  readonly pp: number
  readonly execute: readonly Operation[]
  readonly sample: readonly Operation[]
  readonly idle: readonly Operation[]
}

const forms: Record<Operation['do'], true> = {
  launch: true,
  broadcast: true,
  collective: true,
  send: true,
  receive: true,
  'stream-wait': true,
  'host-wait': true,
  poll: true,
  rendezvous: true,
  reply: true,
  pend: true,
  consume: true,
  'check-header': true,
  release: true,
  read: true,
  'free-rows': true,
  raise: true,
}

/**
 * Checks a protocol and returns it unchanged. Wrong programs are refused here, with the place,
 * and not discovered as a strange verdict later.
 * @throws PpcheckError PPC201 for an operation that no rank could perform.
 */
export function defineProtocol(protocol: Protocol): Protocol {
  if (protocol === null || typeof protocol !== 'object' || typeof protocol.name !== 'string') {
    fail('PPC201', 'a protocol needs a name')
  }
  if (protocol.roles?.last === undefined || protocol.roles.others === undefined) {
    fail('PPC201', `protocol ${protocol.name} needs the roles last and others`)
  }
  for (const [roleName, role] of Object.entries(protocol.roles)) {
    if (role === undefined) continue
    for (const phase of ['execute', 'sample', 'idle'] as const) {
      const operations = role[phase] ?? []
      if (!Array.isArray(operations)) {
        fail('PPC201', `${protocol.name}: ${roleName}.${phase} must be a list of operations`)
      }
      for (const [index, operation] of operations.entries()) {
        checkOperation(protocol, `${protocol.name}: ${roleName}.${phase}[${index}]`, operation)
      }
    }
  }
  return protocol
}

function checkOperation(protocol: Protocol, where: string, operation: Operation): void {
  if (operation === null || typeof operation !== 'object' || !(operation.do in forms)) {
    fail(
      'PPC201',
      `${where}: unknown operation ${JSON.stringify(operation?.do)}`,
      `one of ${Object.keys(forms).join(', ')}`,
    )
  }
  if (!isTransfer(operation)) return
  const communicator = protocol.communicators?.[operation.communicator]
  if (communicator === undefined) {
    fail(
      'PPC201',
      `${where}: communicator ${JSON.stringify(operation.communicator)} is not declared`,
      `declared: ${Object.keys(protocol.communicators ?? {}).join(', ') || 'none'}`,
    )
  }
  const collective = operation.do === 'broadcast' || operation.do === 'collective'
  if (collective && communicator.kind === 'pair') {
    fail('PPC201', `${where}: a ${operation.do} needs a communicator of kind group`)
  }
  if (operation.thread !== undefined && operation.stream !== 'cpu') {
    fail('PPC201', `${where}: only a CPU transport can be posted by a thread of its own`)
  }
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
