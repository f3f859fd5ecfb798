// A protocol is data: for each role a readable list of operations. This file says what one looks
// like and checks it; resolve-program.ts turns it into the program of a rank.

import { fail } from './error.ts'
import type { Operation } from './operation.ts'
import { isTransfer } from './operation.ts'
import { operationNames, operationProblem } from './operation-schema.ts'

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

/**
 * Checks a protocol and returns it unchanged. Wrong programs are refused here, with the place,
 * and not discovered as a strange verdict later.
 * @throws PpcheckError PPC201 for an operation that no rank could perform.
 */
export function defineProtocol(protocol: Protocol): Protocol {
  if (protocol === null || typeof protocol !== 'object' || typeof protocol.name !== 'string') {
    fail('PPC201', 'a protocol needs a name')
  }
  const { name, roles, communicators } = protocol
  if (!isObject(roles) || !isObject(roles.last) || !isObject(roles.others)) {
    fail('PPC201', `protocol ${name} needs the roles last and others`)
  }
  if (!isObject(communicators)) fail('PPC201', `protocol ${name} needs its communicators`)
  for (const [key, form] of Object.entries(communicators)) {
    if (isObject(form) && (form.kind === 'group' || form.kind === 'pair')) continue
    fail('PPC201', `${name}: communicator ${key} must be of kind group or pair`)
  }
  for (const [roleName, role] of Object.entries(roles)) {
    if (role === undefined) continue
    if (!['last', 'others', 'first'].includes(roleName)) {
      fail('PPC201', `${name}: unknown role ${roleName}`, 'last, others and first')
    }
    checkRole(protocol, `${name}: ${roleName}`, role)
  }
  return protocol
}

const isObject = (value: unknown): boolean => value !== null && typeof value === 'object'

function checkRole(protocol: Protocol, where: string, role: Role): void {
  const all: Operation[] = []
  for (const phase of ['execute', 'sample', 'idle'] as const) {
    const operations = phase === 'idle' ? (role.idle ?? []) : role[phase]
    if (!Array.isArray(operations)) {
      fail('PPC201', `${where}.${phase} must be a list of operations`)
    }
    for (const [index, operation] of operations.entries()) {
      const problem = operationProblem(operation)
      if (problem !== undefined) {
        const known = `operations: ${operationNames.join(', ')}`
        const hint = problem.startsWith('unknown operation') ? known : undefined
        fail('PPC201', `${where}.${phase}[${index}]: ${problem}`, hint)
      }
      checkTransfer(protocol, `${where}.${phase}[${index}]`, operation)
      all.push(operation)
    }
  }
  checkReferences(where, all)
}

/** A name that nothing in the role bears is a slip: the dependency would silently be missing. */
function checkReferences(where: string, operations: readonly Operation[]): void {
  const names = new Set(operations.flatMap((form) => ('name' in form ? [form.name] : [])))
  const buffers = new Set(
    operations.flatMap((form) => [
      ...('reads' in form ? (form.reads ?? []) : []),
      ...('writes' in form ? (form.writes ?? []) : []),
    ]),
  )
  const need = (known: ReadonlySet<string>, word: string, what: string): void => {
    if (known.has(word)) return
    const list = [...known].join(', ') || 'none'
    fail('PPC201', `${where}: ${what} ${JSON.stringify(word)} does not exist`, `known: ${list}`)
  }
  for (const form of operations) {
    if ('for' in form) need(names, form.for.operation, `${form.do} for`)
    if (form.do === 'reply') need(names, form.after.operation, 'reply after')
    if (form.do === 'check-header') need(names, form.header, 'check-header of')
    if (form.do === 'consume') {
      for (const word of [form.after, ...form.adopts]) need(names, word, 'consume of')
      if (form.checks !== undefined) need(names, form.checks, 'consume checks')
    }
    if (form.do === 'release' || form.do === 'read') {
      need(buffers, form.buffer, `${form.do} of buffer`)
    }
  }
}

function checkTransfer(protocol: Protocol, where: string, operation: Operation): void {
  if (!isTransfer(operation)) return
  const { communicators } = protocol
  const isDeclared = Object.hasOwn(communicators, operation.communicator)
  if (!isDeclared) {
    fail(
      'PPC201',
      `${where}: communicator ${JSON.stringify(operation.communicator)} is not declared`,
      `declared: ${Object.keys(communicators).join(', ') || 'none'}`,
    )
  }
  const collective = operation.do === 'broadcast' || operation.do === 'collective'
  if (collective && communicators[operation.communicator].kind === 'pair') {
    fail('PPC201', `${where}: a ${operation.do} needs a communicator of kind group`)
  }
  if (operation.thread !== undefined && operation.stream !== 'cpu') {
    fail('PPC201', `${where}: only a CPU transport can be posted by a thread of its own`)
  }
}

/**
 * Checks what only a topology can tell: ranks that are named by number exist.
 * @throws PpcheckError PPC201.
 */
export function checkRanks(protocol: Protocol, pp: number): void {
  for (const [roleName, role] of Object.entries(protocol.roles)) {
    for (const form of [...role.execute, ...role.sample, ...(role.idle ?? [])]) {
      const named = 'root' in form ? form.root : 'peer' in form ? form.peer : undefined
      if (typeof named !== 'number' || named < pp) continue
      const what = 'root' in form ? 'root' : 'peer'
      fail('PPC201', `${protocol.name}: ${roleName}: ${what} ${named} does not exist with pp ${pp}`)
    }
  }
}
