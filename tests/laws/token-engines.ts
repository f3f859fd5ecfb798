// Small engines that exchange tokens and are nearly right: the last rank posts what the others post
// in the same order, on streams and communicators of any kind, and then something is changed. Most
// of them run for several steps, so that what is consumed, checked and raised later is reached.

import fc from 'fast-check'
import type { Operation } from '../../spec/operation.ts'
import {
  broadcast,
  checkHeader,
  collective,
  consume,
  done,
  freeRows,
  hostWait,
  launch,
  pend,
  poll,
  raise,
  readBuffer,
  receive,
  release,
  rendezvous,
  reply,
  send,
  streamWait,
  when,
} from '../../spec/operation.ts'
import { defineProtocol, type Role } from '../../spec/program.ts'
import {
  defineScenario,
  type FaultKind,
  faultKinds,
  type Scenario,
  type ScenarioInput,
} from '../../spec/scenario.ts'

const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
const buffers = oneOf<readonly string[]>([], [], [], ['x'], ['y'])
const payloadNames = ['header', 'sampled', 'counts'] as const
type PayloadName = (typeof payloadNames)[number]

/** Only what is touched: an empty list would be a field more for the rules to look at. */
const touching = (reads: readonly string[], writes: readonly string[]) => ({
  ...(reads.length > 0 ? { reads } : {}),
  ...(writes.length > 0 ? { writes } : {}),
})

const work = launch('work', { stream: 'main' })

/** Where a payload travels, and on which stream and with which buffers each side posts it. */
const routes = fc.record({
  communicator: oneOf('token', 'token', 'other'),
  sendStream: oneOf('side', 'side', 's3', 'main'),
  receiveStream: oneOf('side', 'side', 's3', 'main'),
  cpu: oneOf(false, false, true),
  root: oneOf('last' as const, 'last' as const, 'first' as const),
  sendReads: buffers,
  sendWrites: buffers,
  receiveReads: buffers,
  receiveWrites: buffers,
})

/** Something that does not belong there. */
const stranger: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record({
      stream: oneOf('main', 'side', 's3'),
      exclusive: oneOf(false, false, true),
      loadsModule: oneOf(false, false, true),
      reads: buffers,
      writes: buffers,
    })
    .map(({ reads, writes, ...rest }) => launch('k', { ...rest, ...touching(reads, writes) })),
  fc
    .record({
      name: oneOf('sampled', 'counts', 'a'),
      communicator: oneOf('token', 'other'),
      stream: oneOf('main', 'side', 's3', 'cpu'),
      root: oneOf('last' as const, 'first' as const),
      stepsAgo: oneOf(0, 0, 1, 2),
    })
    .map(({ name, ...rest }) => broadcast(name, { dtype: 'int64', shape: ['R'], ...rest })),
  oneOf('main', 'side').map((stream) =>
    collective('all', { communicator: 'other', stream, dtype: 'int64', shape: [1] }),
  ),
  fc
    .record({
      communicator: oneOf('hop', 'token'),
      stream: oneOf('main', 'side', 'cpu'),
      peer: oneOf('next' as const, 'previous' as const, 'last' as const),
    })
    .chain((rest) => {
      const shape = { dtype: 'int64', shape: [1], ...rest } as const
      return oneOf<Operation>(send('hop', shape), receive('hop', shape))
    }),
  oneOf<Operation>(
    broadcast('a', {
      communicator: 'token',
      root: 'last',
      stream: 'cpu',
      thread: 'sender',
      dtype: 'int64',
      shape: ['R'],
    }),
    pend(),
    freeRows(),
    checkHeader('header'),
    rendezvous('meet', 'next'),
    rendezvous('meet', 'previous'),
    release('x'),
    readBuffer('y'),
    raise('on purpose'),
  ),
)

const waits: fc.Arbitrary<Operation> = fc.oneof(
  oneOf('sampled', 'counts', 'header', 'k').map((name) => hostWait(done(name))),
  fc
    .tuple(oneOf('main', 'side', 'sender'), oneOf('sampled', 'counts', 'work', 'k'), oneOf(0, 1))
    .map(([stream, name, stepsAgo]) => streamWait(stream, done(name, stepsAgo))),
  oneOf('sampled', 'counts').map((name) => poll(done(name))),
)

const guarded = (operation: fc.Arbitrary<Operation>): fc.Arbitrary<Operation> =>
  fc
    .tuple(operation, fc.nat({ max: 5 }), oneOf('mask' as const, 'no-mask' as const))
    .map(([form, dice, fact]) => (dice === 0 ? when([fact], form) : form))

const placed = (operation: fc.Arbitrary<Operation>, maxLength: number) =>
  fc.array(fc.tuple(fc.nat({ max: 6 }), guarded(operation)), { maxLength })

const insertInto = (
  list: readonly Operation[],
  more: readonly (readonly [number, Operation])[],
): Operation[] => {
  const result = [...list]
  for (const [place, operation] of more) result.splice(place % (result.length + 1), 0, operation)
  return result
}

/** Leaves out what refers to nothing in its role: such programs are refused (PPC201). */
function referring(role: Role): Role {
  const all = [...role.execute, ...role.sample]
  const names = new Set(all.flatMap((form) => ('name' in form ? [form.name] : [])))
  const used = new Set(
    all.flatMap((form) => [
      ...('reads' in form ? (form.reads ?? []) : []),
      ...('writes' in form ? (form.writes ?? []) : []),
    ]),
  )
  const keep = (operation: Operation): boolean => {
    if ('for' in operation) return names.has(operation.for.operation)
    if (operation.do === 'check-header') return names.has(operation.header)
    if (operation.do === 'consume') return names.has(operation.after)
    return !('buffer' in operation) || used.has(operation.buffer)
  }
  const mend = (operation: Operation): Operation => {
    if (operation.do !== 'consume') return operation
    const { checks, ...rest } = operation
    const adopts = operation.adopts.filter((name) => names.has(name))
    return checks !== undefined && names.has(checks)
      ? { ...rest, adopts, checks }
      : { ...rest, adopts }
  }
  return {
    execute: role.execute.filter(keep).map(mend),
    sample: role.sample.filter(keep).map(mend),
  }
}

const roles = fc
  .record({
    payloads: fc.uniqueArray(oneOf(...payloadNames), { minLength: 1, maxLength: 3 }),
    route: fc.record({ header: routes, sampled: routes, counts: routes }),
    fields: oneOf<readonly ('seq' | 'mask_hash' | 'num_reqs')[]>(
      ['seq', 'mask_hash', 'num_reqs'],
      ['seq'],
      ['mask_hash', 'num_reqs'],
    ),
    sequence: oneOf('before-enqueue' as const, 'before-enqueue' as const, 'after-enqueue' as const),
    checks: fc.tuple(oneOf('none', 'host', 'consume'), oneOf('none', 'host', 'consume')),
    checkLater: fc.nat({ max: 3 }),
    consumption: fc.record({
      on: oneOf('host', 'host', 'main', 'side'),
      stepsAgo: oneOf<number | 'pp'>(1, 1, 'pp', 3),
      after: oneOf<PayloadName>(...payloadNames),
      adopts: oneOf(['sampled'], ['sampled', 'counts'], ['counts']),
      generationCheck: fc.boolean(),
    }),
    consumesIn: oneOf('execute', 'sample', 'never'),
    frees: fc.boolean(),
    waits: placed(waits, 2),
    atOthers: placed(stranger, 1),
    atLast: placed(stranger, 1),
    dropped: fc.nat({ max: 12 }),
    firstDiffers: fc.boolean(),
    repliesIn: oneOf('execute', 'sample'),
  })
  .map((made) => {
    const posts = (sends: boolean): Operation[] =>
      made.payloads.map((name) => {
        const route = made.route[name]
        const { communicator, root } = route
        const [reads, writes] = sends
          ? [route.sendReads, route.sendWrites]
          : [route.receiveReads, route.receiveWrites]
        const stream = route.cpu ? 'cpu' : sends ? route.sendStream : route.receiveStream
        const dtype = 'int64'
        const common = { communicator, root, stream, dtype, ...touching(reads, writes) } as const
        if (name !== 'header') return broadcast(name, { ...common, shape: ['R'] })
        const sequence = sends ? made.sequence : ('before-enqueue' as const)
        return broadcast(name, { ...common, shape: [3], header: { fields: made.fields, sequence } })
      })
    const receiver = (check: string): Role => {
      const { stepsAgo, ...rest } = made.consumption
      const how = { stepsAgo, ...rest, ...(check === 'consume' ? { checks: 'header' } : {}) }
      const take = (phase: string) => (made.consumesIn === phase ? [consume(how)] : [])
      const received = insertInto(posts(false), made.waits)
      if (check === 'host') {
        const at = received.findIndex((form) => 'name' in form && form.name === 'header')
        received.splice(at + 1 + made.checkLater, 0, checkHeader('header'))
      }
      const kept = received.filter((_, index) => index !== made.dropped)
      return {
        execute: [...take('execute'), ...(made.frees ? [freeRows()] : [])],
        sample: [...take('sample'), ...insertInto(kept, made.atOthers), pend()],
      }
    }
    const sent = insertInto(posts(true), made.atLast)
    const answer = reply(done('work'))
    const last =
      made.repliesIn === 'execute'
        ? { execute: [work, answer], sample: sent }
        : { execute: [work], sample: [answer, ...sent] }
    const first = made.firstDiffers ? { first: referring(receiver(made.checks[1])) } : {}
    return { ...first, others: referring(receiver(made.checks[0])), last: referring(last) }
  })

type FaultInput = NonNullable<ScenarioInput['faults']>

/** A fault of any kind; the one that must say which batch says one. */
export const faultOf = (kind: FaultKind) =>
  kind === 'own-batch' ? { kind, batch: { mask: 'empty' as const, rows: 'b' } } : { kind }

const faults: fc.Arbitrary<FaultInput> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<FaultInput>([]) },
  {
    weight: 2,
    arbitrary: fc.array(oneOf<FaultKind>(...faultKinds).map(faultOf), {
      minLength: 1,
      maxLength: 2,
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        kind: oneOf<FaultKind>('own-mask', 'own-num-reqs', 'own-rows', 'lost-rpc'),
        rank: oneOf(0, 1),
        step: fc.constant(0),
      })
      .map((fault) => [fault]),
  },
)

/** Scenarios over them: one to three steps, all device rules, up to two faults. */
export const tokenEngines: fc.Arbitrary<Scenario> = fc
  .record({
    pp: oneOf(2, 2, 2, 3),
    window: oneOf(1, 1, 2),
    steps: oneOf(1, 2, 2, 2, 3),
    overfull: oneOf(false, false, false, false, false, false, false, true),
    roles,
    device: fc.record({
      residentCollectives: oneOf(1, 2, 3, 3),
      launchOrder: oneOf(
        'free' as const,
        'free' as const,
        'free' as const,
        'host-program' as const,
        'serial' as const,
      ),
      hardwareQueues: oneOf(0, 0, 0, 1, 2),
      eager: oneOf(0, 0, 0, 0, 1, 2),
      moduleLoading: oneOf('eager' as const, 'eager' as const, 'lazy' as const),
    }),
    faults,
    faultsMax: oneOf(1, 1, 2),
    choices: oneOf<NonNullable<NonNullable<ScenarioInput['workload']>['choices']>>(
      [{}],
      [{}],
      [{}, { mask: 'empty' }],
      [{ requests: 2 }, { rejected: 1 }],
      [{ frees: true }],
      [{}, { empty: true }],
      [{ firstUse: true }],
    ),
  })
  .map(({ pp, window, steps, overfull, roles, choices, ...rest }) =>
    defineScenario({
      ...rest,
      topology: { pp, window, drafts: 1 },
      workload: { steps, choices },
      ...(overfull ? { engineWindow: window + 1 } : {}),
      protocol: defineProtocol({
        name: 'generated',
        summary: 'a small engine that is nearly right',
        communicators: {
          token: { kind: 'group' },
          other: { kind: 'group' },
          hop: { kind: 'pair' },
        },
        roles,
      }),
    }),
  )
