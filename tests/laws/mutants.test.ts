// A green run says nothing until each property has been seen to fire: for every one of P1..P12 a
// mutant that breaks it, beside the mended twin that differs in one place and holds.

import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import type { Operation } from '../../spec/operation.ts'
import {
  broadcast,
  checkHeader,
  consume,
  done,
  freeRows,
  hostWait,
  launch,
  pend,
  poll,
  readBuffer,
  release,
  reply,
  streamWait,
} from '../../spec/operation.ts'
import { defineProtocol, type Role } from '../../spec/program.ts'
import type { PropertyId } from '../../spec/properties.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import { defineScenario, type Scenario, type ScenarioInput } from '../../spec/scenario.ts'

const broken = (scenario: Scenario): PropertyId[] => {
  const verdict = check(scenario, { continue: true })
  expect(verdict.scope.kind).not.toBe('bounded')
  return verdict.counterexamples.map(({ property }) => property)
}

const token = { communicator: 'token', root: 'last', stream: 'broadcast' } as const

/** Tokens of a small protocol: one payload for each of `sampled` and `counts`. */
const sampled = (more: Partial<Parameters<typeof broadcast>[1]> = {}): Operation =>
  broadcast('sampled', { ...token, dtype: 'int64', shape: ['R'], ...more })
const counts = (more: Partial<Parameters<typeof broadcast>[1]> = {}): Operation =>
  broadcast('counts', { ...token, dtype: 'int32', shape: [2, 'R'], ...more })

const consumption = (more: Partial<Parameters<typeof consume>[0]> = {}): Operation =>
  consume({
    on: 'main',
    stepsAgo: 'pp',
    after: 'counts',
    adopts: ['sampled', 'counts'],
    generationCheck: true,
    ...more,
  })

/** Two ranks that exchange nothing but tokens: the smallest engine in which all rules apply. */
const engine = (
  change: { last?: Partial<Role>; others?: Partial<Role> },
  input: Partial<ScenarioInput> = {},
): Scenario =>
  defineScenario({
    topology: { pp: 2, window: 2 },
    device: { residentCollectives: 3 },
    ...input,
    protocol: defineProtocol({
      name: 'small',
      summary: 'two ranks and two payloads a step',
      communicators: { token: { kind: 'group' } },
      roles: {
        last: {
          execute: [launch('forward', { stream: 'main' })],
          sample: [
            launch('sample', { stream: 'main' }),
            reply(done('sample')),
            streamWait('broadcast', done('sample')),
            sampled(),
            counts(),
          ],
          ...change.last,
        },
        others: {
          execute: [consumption(), freeRows(), launch('forward', { stream: 'main' })],
          sample: [sampled(), counts(), pend()],
          ...change.others,
        },
      },
    }),
  })

const workload = (...choices: NonNullable<NonNullable<ScenarioInput['workload']>['choices']>) => ({
  workload: { choices },
})

test('the small engine itself holds everything, for any run length', () => {
  expect(check(engine({})).scope).toEqual({ kind: 'exhaustive', runLength: 'any' })
  expect(broken(engine({}))).toEqual([])
})

describe('P1 deadlock-freedom', () => {
  test('receivers wait on the host for a payload that is never sent', () => {
    const others = {
      sample: [sampled(), hostWait(done('sampled')), counts(), hostWait(done('counts')), pend()],
    }
    const last = { sample: [launch('sample', { stream: 'main' }), reply(done('sample'))] }
    expect(broken(engine({ others, last }))).toContain('P1')
    expect(broken(engine({ others }))).toEqual([])
  })
})

describe('P2 collective-match', () => {
  test.each([
    ['dtype', counts({ dtype: 'int64' })],
    ['count', counts({ shape: [3, 'R'] })],
    ['root', counts({ root: 'first' })],
  ])('another %s on one side', (_field, odd) => {
    const others = { sample: [sampled(), odd, pend()] }
    expect(broken(engine({ others }))).toEqual(['P2'])
  })

  test('a kind of operation that the other side does not post', () => {
    const others = {
      sample: [
        {
          do: 'collective',
          name: 'sampled',
          communicator: 'token',
          stream: 'broadcast',
          dtype: 'int64',
          shape: ['R'],
        } as const,
        counts(),
        pend(),
      ],
    }
    expect(broken(engine({ others }))).toContain('P2')
  })

  test('payloads of one size in another order pair wrongly', () => {
    const twin = { dtype: 'int64', shape: ['R'] } as const
    const last = {
      sample: [
        launch('sample', { stream: 'main' }),
        reply(done('sample')),
        streamWait('broadcast', done('sample')),
        counts(twin),
        sampled(),
      ],
    }
    const others = { sample: [sampled(), counts(twin), pend()] }
    expect(broken(engine({ others, last }))).toEqual(['P2'])
    expect(
      broken(
        engine({ others, last: { sample: [...last.sample.slice(0, 3), sampled(), counts(twin)] } }),
      ),
    ).toEqual([])
  })
})

describe('P3 token-agreement', () => {
  test('adopting a payload that nobody waited for', () => {
    const early = consumption({ after: 'sampled' })
    const others = { execute: [early, launch('forward', { stream: 'main' })] }
    const late = { execute: [consumption(), launch('forward', { stream: 'main' })] }
    // The order of the two payloads: waiting for the first does not wait for the second.
    expect(broken(engine({ others }))).toEqual(['P3'])
    expect(broken(engine({ others: late }))).toEqual([])
  })

  test('equal masks over other rows pass every check of the header (R2)', () => {
    const faults = [{ kind: 'own-rows' as const }]
    const scenario = fieldScenario('stabilized', { pp: 2, faults, workload: {} })
    expect(broken(scenario)).toEqual(expect.arrayContaining(['P3', 'P4']))
    expect(broken(fieldScenario('stabilized', { pp: 2, workload: {} }))).toEqual([])
  })
})

describe('P4 fail-fast', () => {
  const diverged = (variant: string) =>
    fieldScenario(variant, {
      pp: 2,
      switches: { draftExecution: 'eager' },
      device: { residentCollectives: 3 },
      faults: [{ kind: 'own-num-reqs' }],
      workload: { steps: 4 },
      properties: ['P1', 'P2', 'P3', 'P4', 'P5'],
    })

  test('a header without num_reqs lets payloads of another shape be posted', () => {
    expect(broken(diverged('fixed-four'))).toEqual(expect.arrayContaining(['P2', 'P4']))
  })

  test('with num_reqs the rank raises, in time, and nothing else is wrong', () => {
    expect(broken(diverged('fixed-four-header64'))).toEqual([])
  })

  test('a mask of its own is seen in time only where there is a header', () => {
    const scenario = (header: 'none' | 'int64') =>
      fieldScenario('stabilized', {
        pp: 2,
        switches: { header },
        faults: [{ kind: 'own-mask', step: 1 }],
        workload: { steps: 4 },
        properties: ['P4'],
      })
    expect(broken(scenario('none'))).toEqual(['P4'])
    expect(broken(scenario('int64'))).toEqual([])
  })
})

describe('P5 no-false-alarm', () => {
  const headed = (lastSequence: 'before-enqueue' | 'after-enqueue') => {
    const header = (sequence: 'before-enqueue' | 'after-enqueue') =>
      broadcast('header', {
        ...token,
        dtype: 'int64',
        shape: [3],
        header: { fields: ['seq', 'mask_hash', 'num_reqs'], sequence },
      })
    const last = {
      sample: [
        launch('sample', { stream: 'main' }),
        reply(done('sample')),
        streamWait('broadcast', done('sample')),
        header(lastSequence),
        sampled(),
        counts(),
      ],
    }
    const others = {
      sample: [header('before-enqueue'), checkHeader('header'), sampled(), counts(), pend()],
    }
    return engine({ last, others })
  }

  test('a sequence number advanced after the enqueue on one side only', () => {
    expect(broken(headed('after-enqueue'))).toEqual(['P5'])
    expect(broken(headed('before-enqueue'))).toEqual([])
  })
})

describe('P6 progress', () => {
  const polling = (name: string) =>
    engine({
      others: { sample: [sampled(), counts(), poll(done(name)), pend()] },
    })

  test('a host that polls for ever is no deadlock and yet no progress', () => {
    const last = { sample: [launch('sample', { stream: 'main' }), reply(done('sample'))] }
    const others = { sample: [sampled(), counts(), poll(done('counts')), pend()] }
    expect(broken(engine({ last, others }))).toEqual(['P6'])
    expect(broken(polling('counts'))).toEqual([])
  })

  test('it is shown as a lasso: the run is the stem, the polls are the loop', () => {
    const last = { sample: [launch('sample', { stream: 'main' }), reply(done('sample'))] }
    const others = { sample: [sampled(), counts(), poll(done('counts')), pend()] }
    const scenario = engine({ last, others })
    const [{ schedule }] = check(scenario).counterexamples
    const { loop } = explain(replay(scenario, decodeSchedule(scenario, schedule)))
    expect(loop).toEqual(['rank 0: host polls counts'])
  })

  test('the cycle search on the full graph says the same', () => {
    const small = { ...polling('counts'), properties: ['P6' as const] }
    const full = check(
      { ...small, workload: { ...small.workload, steps: 1 } },
      { reduction: 'none' },
    )
    expect(full.outcome).toBe('holds')
  })
})

describe('P7 bounded-window', () => {
  test('an engine that lets one step more into flight than it promises', () => {
    expect(broken(engine({}, { engineWindow: 3 }))).toContain('P7')
    expect(broken(engine({}, { engineWindow: 2 }))).toEqual([])
  })

  test.each([1, 3])('consumption %i steps later instead of pp = 2', (stepsAgo) => {
    const others = {
      execute: [consumption({ stepsAgo }), freeRows(), launch('forward', { stream: 'main' })],
    }
    expect(broken(engine({ others }))).toContain('P7')
  })
})

describe('P8 no-stale-write', () => {
  const reused = [{ kind: 'request-reused' as const }]
  const checked = (generationCheck: boolean) => ({
    execute: [consumption({ generationCheck }), freeRows(), launch('forward', { stream: 'main' })],
  })

  test('without the generation check, rows freed since the receive are written', () => {
    expect(broken(engine({ others: checked(false) }, { faults: reused }))).toEqual(['P8'])
    expect(broken(engine({ others: checked(true) }, { faults: reused }))).toEqual([])
  })

  test('order protects too: frees of the very step of consumption come after it', () => {
    // Only step t + pp announces a free here, so consuming first needs no check and consuming
    // after it does.
    const at = { faults: [{ kind: 'request-reused' as const, step: 2 }], workload: { steps: 3 } }
    const first = [consumption({ generationCheck: false }), freeRows()]
    const scenario = (execute: Operation[]) =>
      engine({ others: { execute: [...execute, launch('forward', { stream: 'main' })] } }, at)
    expect(broken(scenario([...first].reverse()))).toEqual(['P8'])
    expect(broken(scenario(first))).toEqual([])
  })
})

describe('P9 buffer-lifetime', () => {
  const buffered = (...tail: Operation[]) => {
    const receive = sampled({ writes: ['header'] })
    return engine({ others: { sample: [receive, ...tail, counts(), pend()] } })
  }

  test('a header buffer released before the host has read it', () => {
    const early = [hostWait(done('sampled')), release('header'), readBuffer('header')]
    const late = [hostWait(done('sampled')), readBuffer('header'), release('header')]
    expect(broken(buffered(...early))).toEqual(['P9'])
    expect(broken(buffered(...late))).toEqual([])
  })

  test('a buffer released while its receive is under way', () => {
    expect(broken(buffered(release('header')))).toEqual(['P9'])
  })

  test('a persistent draft buffer overwritten while a slow send still reads it', () => {
    const last = (waits: Operation[]) => ({
      execute: [launch('forward', { stream: 'main' }), ...waits],
      sample: [
        launch('draft', { stream: 'main', writes: ['drafts'] }),
        reply(done('draft')),
        streamWait('broadcast', done('draft')),
        sampled({ reads: ['drafts'] }),
        counts(),
      ],
    })
    const mended = last([streamWait('main', done('sampled', 1))])
    expect(broken(engine({ last: last([]) }))).toEqual(['P9'])
    expect(broken(engine({ last: mended }))).toEqual([])
  })
})

describe('P10 quiescence', () => {
  // Receives are posted one step late, so that the last step's are still to be posted at idle.
  const deferred = (idle: Operation[]) =>
    engine({
      others: {
        sample: [pend(), sampled({ stepsAgo: 1 }), counts({ stepsAgo: 1 })],
        idle,
      },
    })

  test('a missing flush at idle leaves the root unmatched', () => {
    expect(broken(deferred([]))).toEqual(['P10'])
    expect(broken(deferred([sampled({ stepsAgo: 0 }), counts({ stepsAgo: 0 })]))).toEqual([])
  })
})

describe('P11 header-representable', () => {
  test('an int32 cannot carry the hash of an empty mask, an int64 can', () => {
    const masks = workload({}, { mask: 'empty' })
    const header = (variant: string) =>
      fieldScenario(variant, { pp: 2, properties: ['P11'], ...masks })
    expect(broken(header('fixed-four'))).toEqual(['P11'])
    expect(broken(header('fixed-four-header64'))).toEqual([])
  })
})

describe('P12 position-agreement', () => {
  test('drafts were rejected and a rank keeps the optimistic position', () => {
    const rejected = workload({ rejected: 2 })
    const blind = {
      execute: [consumption({ adopts: ['sampled'] }), launch('forward', { stream: 'main' })],
    }
    expect(broken(engine({ others: blind }, rejected))).toEqual(['P12'])
    expect(broken(engine({}, rejected))).toEqual([])
    expect(broken(engine({ others: blind }, workload({ rejected: 0 })))).toEqual([])
  })
})
