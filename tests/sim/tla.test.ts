// The TLA+ export. TLC itself is asked where PPCHECK_TLA2TOOLS names its jar. Everywhere, the text
// is read back by a small reader of exactly the TLA+ that is written, and explored: it must have
// the states of the checker without reduction, and deadlock or disagree where the checker does.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { toTla } from '../../sim/export/tla.ts'
import { check } from '../../sim/search/check.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'

interface Action {
  readonly needs: readonly ((state: readonly number[]) => boolean)[]
  readonly changes: readonly { readonly at: number; readonly to: (value: number) => number }[]
}

/** Reads the module. Throws on a line that it does not know: nothing may be skipped in silence. */
function read(text: string) {
  const [module] = text.split('\n====')
  const blocks = module.split('\n\n')
  const variables = [...(blocks[1].match(/^ {2}\w+(?=,?$)/gm) ?? [])].map((name) => name.trim())
  const at = (name: string): number => {
    const index = variables.indexOf(name)
    expect(index, name).toBeGreaterThanOrEqual(0)
    return index
  }
  const initial = new Array<number>(variables.length).fill(Number.NaN)
  const actions = new Map<string, Action>()
  const done: Action['needs'][number][] = []
  const next: string[] = []
  const relations: Record<string, (a: number, b: number) => boolean> = {
    '=': (a, b) => a === b,
    '>': (a, b) => a > b,
    '>=': (a, b) => a >= b,
    '<': (a, b) => a < b,
  }
  const needOf = (line: string): Action['needs'][number] | undefined => {
    const [, name, relation, value] = /^ {2}\/\\ (\w+) (=|>=|>|<) (\d+)$/.exec(line) ?? []
    if (name === undefined) return undefined
    const index = at(name)
    return (state) => relations[relation](state[index], Number(value))
  }
  for (const block of blocks.slice(2)) {
    const lines = block.split('\n').filter((line) => !line.startsWith('\\*'))
    const [, name] = /^(\w+) ==/.exec(lines[0]) ?? []
    if (name === 'Init') {
      for (const line of lines.slice(1)) {
        const [, variable, value] = /\/\\ (\w+) = (0|TRUE)$/.exec(line) ?? []
        initial[at(variable)] = value === 'TRUE' ? 1 : 0
      }
    } else if (name === 'Done') {
      done.push(...lines.slice(1).map((line) => needOf(line) as Action['needs'][number]))
    } else if (name === 'Next') {
      next.push(...lines.slice(1, -1).map((line) => line.replace('  \\/ ', '')))
      expect(lines.at(-1)).toBe('  \\/ Done /\\ UNCHANGED vars')
    } else if (name !== 'vars' && name !== 'Spec') {
      const needs: Action['needs'][number][] = []
      const changes: Action['changes'][number][] = []
      const kept: string[] = []
      const unchanged = lines.findIndex((line) => line.includes('UNCHANGED'))
      for (const line of lines.slice(1, unchanged)) {
        const need = needOf(line)
        if (need !== undefined) {
          needs.push(need)
          continue
        }
        const moved = /^ {2}\/\\ (\w+)' = (\w+)(?: ([+-]) 1)?$/.exec(line)
        expect(moved, line).not.toBeNull()
        const [, variable, from, sign] = moved ?? []
        const by = sign === '-' ? -1 : 1
        const constant = from === 'FALSE' ? 0 : Number(from)
        const to = sign === undefined ? () => constant : (value: number) => value + by
        if (sign !== undefined) expect(from).toBe(variable)
        changes.push({ at: at(variable), to })
      }
      kept.push(
        ...(lines
          .slice(unchanged + 1)
          .join(' ')
          .match(/\w+/g) ?? []),
      )
      // Every variable is either set or unchanged, exactly once: otherwise TLC refuses the action.
      const told = [...kept.map(at), ...changes.map((change) => change.at)]
      expect(told.sort((a, b) => a - b)).toEqual(variables.map((_, index) => index))
      actions.set(name ?? '?', { needs, changes })
    }
  }
  expect([...actions.keys()]).toEqual(next)
  expect(initial.some(Number.isNaN)).toBe(false)
  return { variables, initial, actions: [...actions.values()], done }
}

function exploreText(text: string) {
  const { variables, initial, actions, done } = read(text)
  const agreed = variables.indexOf('agreed')
  const seen = new Set([initial.join()])
  const queue = [initial]
  let deadlocks = 0
  let disagreements = 0
  for (const state of queue) {
    let moved = done.every((need) => need(state))
    for (const { needs, changes } of actions) {
      if (!needs.every((need) => need(state))) continue
      moved = true
      const after = [...state]
      for (const { at, to } of changes) after[at] = to(state[at])
      if (after[agreed] === 0) {
        disagreements++
        continue
      }
      const key = after.join()
      if (seen.has(key)) continue
      seen.add(key)
      queue.push(after)
    }
    if (!moved) deadlocks++
  }
  return { states: seen.size, deadlocks, disagreements }
}

const script = [{}, { proposal: false }]
const tiny = (variant: string, residentCollectives: number, steps = 1): [string, Scenario] => [
  `${variant}, ${residentCollectives} resident, ${steps} steps`,
  fieldScenario(variant, {
    pp: 2,
    window: steps,
    device: { residentCollectives },
    workload: { steps, script: script.slice(2 - steps) },
    properties: ['P1', 'P2', 'P10'],
  }),
]

const cases: [string, Scenario][] = [
  tiny('upstream-fork', 1),
  tiny('upstream-fork', 3),
  tiny('fixed-four', 1),
  tiny('capped', 2),
  tiny('capped', 1, 2),
  tiny('stabilized', 1),
  tiny('stabilized', 2, 2),
]

describe('the module as it is written', () => {
  test.each(cases)('%s: the states and the outcome of the checker', (_, scenario) => {
    const mine = check(scenario, { reduction: 'none', walks: 0, continue: true })
    const theirs = exploreText(toTla(scenario))
    expect(theirs.states).toBe(mine.states)
    const broken = mine.counterexamples.map(({ property }) => property)
    expect(theirs.disagreements > 0).toBe(broken.includes('P2'))
    expect(theirs.deadlocks > 0).toBe(broken.includes('P1') || broken.includes('P10'))
  })

  test('both outcomes are among the cases', () => {
    const outcomes = cases.map(([, scenario]) => check(scenario).outcome)
    expect(new Set(outcomes)).toEqual(new Set(['holds', 'violated']))
  })
})

const jar = process.env['PPCHECK_TLA2TOOLS']

describe.skipIf(jar === undefined)('TLC (PPCHECK_TLA2TOOLS names tla2tools.jar)', () => {
  test.each(cases)('%s', { timeout: 120_000 }, (_, scenario) => {
    const folder = mkdtempSync(join(tmpdir(), 'ppcheck-tlc-'))
    try {
      const text = toTla(scenario)
      const [, name] = /MODULE (\w+)/.exec(text) ?? []
      writeFileSync(join(folder, `${name}.tla`), text)
      writeFileSync(join(folder, `${name}.cfg`), text.split('.cfg:\n')[1])
      const args = ['-cp', jar ?? '', 'tlc2.TLC', '-workers', '2', name ?? '']
      const { stdout } = spawnSync('java', args, { cwd: folder, encoding: 'utf8' })
      const { outcome } = check(scenario)
      expect(/No error has been found/.test(stdout), stdout).toBe(outcome === 'holds')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
