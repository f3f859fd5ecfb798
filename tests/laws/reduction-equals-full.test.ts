// The reduction is only as good as this law: on thousands of small scenarios, made of the report's
// switches and of programs that nobody would write, the reduced and the full search agree.
//
// What is compared. A run ends at its first violation, so with all properties asked for at once one
// violation can hide another, differently in the two searches. Compared are therefore (a) whether
// anything at all is violated and (b) each property asked for alone.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { check } from '../../sim/search/check.ts'
import type { Operation } from '../../spec/operation.ts'
import {
  broadcast,
  collective,
  consume,
  done,
  hostWait,
  launch,
  pend,
  receive,
  release,
  rendezvous,
  reply,
  send,
  streamWait,
} from '../../spec/operation.ts'
import { defineProtocol } from '../../spec/program.ts'
import { type PropertyId, propertyIds } from '../../spec/properties.ts'
import { fieldReport } from '../../spec/protocols/field-report.ts'
import { defineScenario, type FaultKind, faultKinds, type Scenario } from '../../spec/scenario.ts'
import { faultOf, tokenEngines } from './token-engines.ts'

/** A few seconds by default; `PPCHECK_LAW_RUNS=2000` looks longer and at larger scenarios. */
const runs = Number(process.env['PPCHECK_LAW_RUNS'] ?? 60)
const statesMax = runs > 100 ? 30_000 : 10_000

/** The outcome for one set of properties; undefined where the full search does not finish. */
function outcome(
  scenario: Scenario,
  reduction: 'stubborn' | 'none',
  properties: readonly PropertyId[],
): boolean | undefined {
  const verdict = check(
    { ...scenario, properties: [...properties] },
    { reduction, statesMax, walks: 0, shortenStatesMax: 1 },
  )
  return verdict.outcome === 'inconclusive' ? undefined : verdict.outcome === 'violated'
}

const counts = { scenarios: 0, compared: 0, skipped: 0, violated: 0 }

/**
 * Both searches on one scenario. Where nothing at all is broken, asking for one property alone asks
 * for the same graph again, so one comparison says it for all.
 */
function agree(scenario: Scenario): void {
  const compare = (properties: readonly PropertyId[]): boolean | undefined => {
    const full = outcome(scenario, 'none', properties)
    if (full === undefined) {
      counts.skipped++
      return undefined
    }
    counts.compared++
    if (full) counts.violated++
    const reduced = outcome(scenario, 'stubborn', properties)
    expect(reduced, `${properties.join()} of ${JSON.stringify(scenario)}`).toBe(full)
    return full
  }
  counts.scenarios++
  if (compare(propertyIds) !== true) return
  for (const id of propertyIds) compare([id])
}

const device = fc.record({
  residentCollectives: fc.constantFrom(1, 1, 2, 3),
  launchOrder: fc.constantFrom(
    'free' as const,
    'free' as const,
    'host-program' as const,
    'serial' as const,
  ),
  hardwareQueues: fc.constantFrom(0, 0, 1, 2),
  eager: fc.constantFrom(0, 0, 0, 1, 2),
  moduleLoading: fc.constantFrom('eager' as const, 'lazy' as const),
})

const faults: fc.Arbitrary<{ kind: FaultKind }[]> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<{ kind: FaultKind }[]>([]) },
  { weight: 1, arbitrary: fc.constantFrom(...faultKinds).map((kind) => [faultOf(kind)]) },
)

const fieldScenarios = fc
  .record({
    switches: fc.record({
      schedule: fc.constantFrom('fixed' as const, 'gated' as const, 'always' as const),
      header: fc.constantFrom('none' as const, 'int32' as const, 'int64' as const),
      headerCheck: fc.constantFrom('host' as const, 'consume' as const),
      transport: fc.constantFrom('nccl' as const, 'gloo' as const),
      receive: fc.constantFrom('blocking' as const, 'draft-deferred' as const, 'deferred' as const),
      send: fc.constantFrom('host' as const, 'offloaded' as const),
      draftExecution: fc.constantFrom('full-graph' as const, 'eager' as const),
      activationMetadata: fc.constantFrom('rendezvous' as const, 'none' as const),
      activationCommunicator: fc.constantFrom('pair' as const, 'group' as const),
      tokenCommunicator: fc.constantFrom('sibling' as const, 'shared' as const),
    }),
    window: fc.constantFrom(1, 1, 2),
    steps: fc.constantFrom(1, 1, 2),
    device,
    faults,
  })
  .map(({ switches, window, steps, device, faults }) =>
    defineScenario({
      protocol: fieldReport('generated', 'generated', switches),
      topology: { pp: 2, window, drafts: 1 },
      device,
      workload: { steps, choices: [{}, { mask: 'empty' }] },
      faults,
    }),
  )

const streams = ['main', 'side'] as const
const names = ['a', 'b', 'c'] as const

/** An operation that two or three ranks might hold in any order; buffers outlive their step. */
const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record({
      name: fc.constantFrom(...names),
      stream: fc.constantFrom(...streams),
      exclusive: fc.boolean(),
      reads: fc.constantFrom([], ['x']),
      writes: fc.constantFrom([], ['x']),
    })
    .map(({ name, ...rest }) => launch(name, rest)),
  fc
    .record({ name: fc.constantFrom(...names), stream: fc.constantFrom('main', 'side', 'cpu') })
    .map(({ name, stream }) =>
      broadcast(name, {
        stream,
        communicator: 'token',
        root: 'last',
        dtype: 'int64',
        shape: ['R'],
      }),
    ),
  fc
    .constantFrom(...streams)
    .map((stream) =>
      collective('all', { stream, communicator: 'other', dtype: 'int64', shape: [1] }),
    ),
  fc
    .constantFrom(...streams)
    .map((stream) =>
      send('act', { stream, communicator: 'hop', peer: 'next', dtype: 'bfloat16', shape: [1] }),
    ),
  fc.constantFrom(...streams).map((stream) =>
    receive('act', {
      stream,
      communicator: 'hop',
      peer: 'previous',
      dtype: 'bfloat16',
      shape: [1],
    }),
  ),
  fc
    .tuple(fc.constantFrom(...streams), fc.constantFrom(...names, 'act'), fc.constantFrom(0, 1))
    .map(([stream, name, ago]) => streamWait(stream, done(name, ago))),
  fc.constantFrom(...names).map((name) => hostWait(done(name))),
  fc.constant(pend()),
  fc
    .constantFrom('host', 'main')
    .map((on) => consume({ on, stepsAgo: 1, after: 'a', adopts: ['a'], generationCheck: true })),
  fc.constant(rendezvous('meet', 'next')),
  fc.constant(rendezvous('meet', 'previous')),
  fc.constant(release('x')),
)

/** Drops what refers to nothing: such programs are refused (PPC201). */
const referring = (operations: readonly Operation[]): Operation[] => {
  const names = new Set(operations.flatMap((form) => ('name' in form ? [form.name] : [])))
  const usesBuffer = operations.some(
    (form) =>
      ('reads' in form && form.reads?.includes('x')) ||
      ('writes' in form && form.writes?.includes('x')),
  )
  return operations.filter((form) => {
    if ('for' in form) return names.has(form.for.operation)
    if (form.do === 'consume') return names.has('a')
    return form.do !== 'release' || usesBuffer
  })
}

const anyProgram = fc.array(anyOperation, { maxLength: 5 }).map(referring)

const programScenarios = fc
  .record({
    pp: fc.constantFrom(2, 2, 3),
    others: anyProgram,
    last: anyProgram,
    steps: fc.constantFrom(0, 1, 2),
    device,
    faults,
  })
  .map(({ pp, others, last, steps, device, faults }) =>
    defineScenario({
      protocol: defineProtocol({
        name: 'generated',
        summary: 'a program that nobody would write',
        communicators: {
          token: { kind: 'group' },
          other: { kind: 'group' },
          hop: { kind: 'pair' },
        },
        roles: {
          others: { execute: [], sample: others },
          last: {
            execute: [launch('work', { stream: 'main' })],
            sample: [reply(done('work')), ...last],
          },
        },
      }),
      topology: { pp, window: 1, drafts: 1 },
      device,
      workload: { steps },
      faults,
    }),
  )

describe('the reduced search and the full search agree', () => {
  test('on settings of the report', { timeout: 600_000 }, () => {
    fc.assert(fc.property(fieldScenarios, agree), { seed: 11, numRuns: runs })
  })

  test('on random programs', { timeout: 600_000 }, () => {
    fc.assert(fc.property(programScenarios, agree), { seed: 12, numRuns: 2 * runs })
  })

  test('on small engines that exchange tokens and are nearly right', { timeout: 600_000 }, () => {
    fc.assert(fc.property(tokenEngines, agree), { seed: 24, numRuns: runs })
  })

  test('and that says something: many were compared, on both sides of the verdict', () => {
    expect(counts.compared).toBeGreaterThan(runs)
    expect(counts.violated).toBeGreaterThan(counts.compared / 20)
    expect(counts.compared - counts.violated).toBeGreaterThan(counts.compared / 20)
    if (process.env['PPCHECK_LAW_RUNS'] !== undefined)
      process.stdout.write(`${JSON.stringify(counts)}\n`)
  })
})
