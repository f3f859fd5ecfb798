// The museum is a set of claims: every exhibit is searched and must come out as its case says. And
// no verdict comes from a table: where the mended line of a case is turned back, the verdict flips.

import { describe, expect, test } from 'vitest'
import { check, type Verdict } from '../../sim/search/check.ts'
import { exhibitScenario, type MuseumCase, museum } from '../../spec/museum/index.ts'
import { leftOut } from '../../spec/museum/left-out.ts'
import { isTransfer, type Operation } from '../../spec/operation.ts'
import type { Role } from '../../spec/program.ts'
import type { Scenario } from '../../spec/scenario.ts'

const outcomeOf = (verdict: Verdict): string =>
  verdict.outcome === 'violated' ? verdict.counterexamples[0].property : verdict.outcome

describe('every exhibit comes out as its case says', () => {
  test.each(museum.map((each) => [each.id, each] as const))('%s', (_id, museumCase) => {
    const found = museumCase.exhibits.map((exhibit) => {
      const verdict = check(exhibitScenario(exhibit), { statesMax: 3_000_000 })
      return `${exhibit.when}, ${exhibit.name}: ${outcomeOf(verdict)}`
    })
    const expected = museumCase.exhibits.map(
      ({ when, name, violates = 'holds' }) => `${when}, ${name}: ${violates}`,
    )
    expect(found).toEqual(expected)
  })
})

describe('what a case must have', () => {
  test('ids and addresses are unique, and file names are ids', () => {
    const ids = museum.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))).toEqual([])
    const urls = museum.flatMap(({ reports }) => reports.map(({ url }) => url))
    expect(urls.filter((url) => !url.startsWith('https://'))).toEqual([])
    expect(museum.filter(({ reports }) => reports.length === 0)).toEqual([])
  })

  test('what was broken has a mended twin that holds', () => {
    const lacking = museum.filter(({ exhibits }) => {
      const breaks = exhibits.some(({ when }) => when === 'before')
      return breaks && !exhibits.some(({ when }) => when === 'after')
    })
    expect(lacking.map(({ id }) => id)).toEqual([])
  })

  test('before breaks something and after holds', () => {
    const odd = museum.flatMap(({ id, exhibits }) =>
      exhibits
        .filter(({ when, violates }) =>
          when === 'before' ? violates === undefined : when === 'after' && violates !== undefined,
        )
        .map(({ name }) => `${id}: ${name}`),
    )
    expect(odd).toEqual([])
  })

  test('a mechanism is a sentence, and what is left out has a reason', () => {
    const short = museum.filter(
      ({ mechanism }) => mechanism.length < 80 || !/\.\)?$/.test(mechanism),
    )
    expect(short.map(({ id }) => id)).toEqual([])
    expect(leftOut.filter(({ because }) => because.length < 20)).toEqual([])
  })
})

const find = (id: string): MuseumCase => {
  const found = museum.find((each) => each.id === id)
  if (found === undefined) throw new Error(`no case ${id}`)
  return found
}

/** The scenario of an exhibit with every operation of one role replaced. */
function turned(
  scenario: Scenario,
  role: 'first' | 'others' | 'last',
  turn: (operation: Operation) => readonly Operation[],
): Scenario {
  const { roles } = scenario.protocol
  const old = roles[role]
  if (old === undefined) throw new Error(`no role ${role}`)
  const changed: Role = {
    execute: old.execute.flatMap(turn),
    sample: old.sample.flatMap(turn),
    ...(old.idle === undefined ? {} : { idle: old.idle.flatMap(turn) }),
  }
  return {
    ...scenario,
    protocol: { ...scenario.protocol, roles: { ...roles, [role]: changed } },
  }
}

const named = (operation: Operation): string => ('name' in operation ? operation.name : '')

describe('turning the mended line back flips the verdict', () => {
  const flips: readonly (readonly [
    string,
    'first' | 'others' | 'last',
    (operation: Operation) => readonly Operation[],
  ])[] = [
    [
      'vllm-46994',
      'last',
      (operation) =>
        isTransfer(operation) && operation.name === 'sampled'
          ? [{ ...operation, shape: ['R', 1] }]
          : [operation],
    ],
    ['vllm-omni-7393', 'last', (each) => (named(each) === 'sampled' ? [] : [each])],
    [
      'vllm-44697',
      'others',
      (each) => (each.do === 'consume' ? [{ ...each, adopts: ['sampled'] }] : [each]),
    ],
    [
      'vllm-33368',
      'others',
      (each) =>
        each.do === 'stream-wait' && each.for.operation === 'send-activation' ? [] : [each],
    ],
    ['trtllm-3688', 'first', (each) => (each.do === 'host-wait' ? [] : [each])],
  ]

  test.each(flips)('%s', (id, role, turn) => {
    const { exhibits } = find(id)
    const before = exhibits.find(({ when }) => when === 'before')
    const after = exhibits.find(({ when }) => when === 'after')
    if (before?.violates === undefined || after === undefined) throw new Error(`${id} has no pair`)
    const mended = after.scenario()
    expect(outcomeOf(check(mended))).toBe('holds')
    const broken = { ...turned(mended, role, turn), properties: [before.violates] }
    expect(outcomeOf(check(broken))).toBe(before.violates)
  })
})
