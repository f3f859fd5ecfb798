// What is exported is what is explored: pictures and definitions are compared with the table that
// the search runs on, never with the program that they came from.

import { describe, expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { mermaid } from '../../sim/export/mermaid.ts'
import { xstateDefinition } from '../../sim/export/xstate.ts'
import { machineEventList } from '../../sim/rank-model.ts'
import { internMachine } from '../../sim/tables.ts'
import { numberBatches } from '../../sim/workload-batches.ts'
import { World } from '../../sim/world.ts'
import { launch } from '../../spec/operation.ts'
import type { Protocol } from '../../spec/program.ts'
import { fieldScenario, variantNames } from '../../spec/protocols/index.ts'
import { createRankMachine } from '../../spec/rank-machine.ts'

const worldOf = (variant: string, protocol?: Protocol): World => {
  const scenario = fieldScenario(variant, { pp: 3 })
  return new World(protocol === undefined ? scenario : { ...scenario, protocol })
}

const tableOf = (world: World, rank: number) => world.ranks[rank].model.table
const linesOf = (picture: string, pattern: RegExp): string[] =>
  picture.split('\n').filter((line) => pattern.test(line))

/** The protocol of a world with one more kernel at the end of the last rank's sample call. */
function withCleanup({ scenario: { protocol } }: World): Protocol {
  const { last } = protocol.roles
  const cleanup = launch('cleanup', { stream: 'main' })
  return {
    ...protocol,
    roles: { ...protocol.roles, last: { ...last, sample: [...last.sample, cleanup] } },
  }
}

describe('mermaid', () => {
  test.each(variantNames)('%s: the states and transitions are those of the table', (variant) => {
    const world = worldOf(variant)
    for (let rank = 0; rank < world.pp; rank++) {
      const { states, next, eventCount } = tableOf(world, rank)
      const events = machineEventList(numberBatches(world.scenario).batches)
      const pairs = new Set<string>()
      next.forEach((to, index) => {
        if (to < 0) return
        const [from, event] = [Math.floor(index / eventCount), events[index % eventCount]]
        pairs.add([states[from].value, event.type, states[to].value].join())
      })
      const picture = mermaid(world, rank)
      const names = new Set(states.map(({ value }) => value))
      expect(linesOf(picture, /^ {2}s\d+ : /)).toHaveLength(names.size)
      expect(linesOf(picture, /^ {2}s\d+ --> s\d+ : /)).toHaveLength(pairs.size)
    }
  })

  test('an operation more in the program is a state more in the picture', () => {
    const before = worldOf('capped')
    const after = worldOf('capped', withCleanup(before))
    const stateCount = (world: World) => linesOf(mermaid(world, 2), /^ {2}s\d+ : /).length
    expect(stateCount(after)).toBe(stateCount(before) + 1)
    expect(mermaid(after, 2)).toContain('launch cleanup')
    expect(mermaid(after, 0)).toBe(mermaid(before, 0))
  })

  test('a guarded post shows which batches take it, and which pass it over', () => {
    const picture = mermaid(worldOf('upstream-fork'), 2)
    const id = /^ {2}(s\d+) : .*post sampled$/m.exec(picture)?.[1]
    expect(linesOf(picture, new RegExp(` --> ${id} : `))).toHaveLength(1)
    expect(picture).toMatch(new RegExp(`--> ${id} : PROCEED \\[R=1 or R=1, no proposal\\]`))
    expect(picture).toContain('PROCEED [R=1, empty mask]')
  })

  test('a header check can fail, and then the rank has raised', () => {
    const picture = mermaid(worldOf('capped'), 0)
    const raised = /^ {2}(s\d+) : raised$/m.exec(picture)?.[1]
    expect(picture).toMatch(new RegExp(`--> ${raised} : HEADER_MISMATCH`))
    expect(picture).toContain(`  ${raised} --> [*]`)
  })
})

describe('xstate', () => {
  test.each(variantNames)('%s: the JSON alone gives the explored machine again', (variant) => {
    const world = worldOf(variant)
    for (let rank = 0; rank < world.pp; rank++) {
      const json = JSON.stringify(xstateDefinition(world, rank))
      const { implementations } = createRankMachine(world.ranks[rank].model.program)
      const again = createMachine(JSON.parse(json), implementations as never)
      const events = machineEventList(numberBatches(world.scenario).batches)
      const { states, next, effects } = internMachine(again, events)
      const expected = tableOf(world, rank)
      expect(states.map(({ value }) => value)).toEqual(expected.states.map(({ value }) => value))
      expect([...next]).toEqual([...expected.next])
      expect(effects).toEqual(expected.effects)
    }
  })
})
