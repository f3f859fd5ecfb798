// What runs have reached of all that a scenario offers: transitions of the ranks' machines,
// operations, batches, faults, and statements that should be true sometimes. It is read off the
// tables afterwards, which number a state or a transition when it is first met: counting costs the
// runs nothing.

import { describeBatch } from '../spec/batch.ts'
import { attribute } from './rank-table.ts'
import type { World } from './world.ts'

/** Named things, each once and sorted; `reached` is a part of `possible`. */
export interface Coverage {
  readonly possible: readonly string[]
  readonly reached: readonly string[]
}

/** What several runs of one scenario have reached together. */
export const joined = (parts: readonly Coverage[]): Coverage => ({
  possible: sorted(parts.flatMap(({ possible }) => possible)),
  reached: sorted(parts.flatMap(({ reached }) => reached)),
})

/** What was never reached. */
export function missed({ possible, reached }: Coverage): string[] {
  const known = new Set(reached)
  return possible.filter((each) => !known.has(each))
}

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort()

/**
 * What a world has done so far. The world must have been run event by event: a reduction asks for
 * transitions that no run takes.
 */
export function coverageOf(world: World): Coverage {
  const parts = [...world.ranks.keys()].map((rank) => transitionsOf(world, rank))
  return joined([...parts, choicesOf(world), sometimesOf(world)])
}

const roleOf = (world: World, rank: number): string =>
  rank === world.pp - 1 ? 'last rank' : rank === 0 ? 'first rank' : 'middle rank'

/**
 * Triples of machine, state and event, and the operations by themselves: the machine leaves out
 * what no batch of the scenario asks for. A state is named by the operation that it stands at.
 */
function transitionsOf(world: World, rank: number): Coverage {
  const ranks = world.ranks[rank]
  const { model } = ranks
  const { states, next, eventCount } = model.table
  const role = roleOf(world, rank)
  const name = (host: number, type: string): string => {
    const op = states[host].meta['operation'] as number | undefined
    const where = op === undefined ? states[host].value : `at ${model.operations[op].name}`
    return `transition ${role}, ${where}: ${type}`
  }
  const kinds = new Set(world.scenario.faults.map(({ kind }) => kind))
  const hasPolls = model.operations.some(({ form }) => form.do === 'poll')
  const possible = model.operations.map(({ name: op }) => `operation ${role}, ${op}`)
  states.forEach((_, host) => {
    model.machineEvents.forEach(({ type }, event) => {
      if (next[host * eventCount + event] < 0) return
      // Accepted anywhere, and sent only if the scenario has what causes them.
      if (type === 'THROW' && !kinds.has('throw')) return
      if (type === 'POLL_MISS' && !hasPolls) return
      possible.push(name(host, type))
    })
  })
  const reached: string[] = []
  for (let number = 0; number < ranks.count; number++) {
    const before = ranks.at(number)
    for (const [event, after] of ranks.taken(number)) {
      const sent = model.machineEvent(before, event, ranks.at(after))
      if (sent === undefined) continue
      reached.push(name(before.host, sent.type))
      const op = states[before.host].meta['operation'] as number | undefined
      if (op !== undefined) reached.push(`operation ${role}, ${model.operations[op].name}`)
    }
  }
  const known = new Set(possible)
  return { possible, reached: reached.filter((each) => known.has(each)) }
}

/** Batches and faults that the environment could choose among. */
function choicesOf(world: World): Coverage {
  const { numbered, scenario } = world
  const { batches, faults } = world.engineEventsTaken()
  const batchName = (number: number): string => `batch ${describeBatch(numbered.batches[number])}`
  const offered = [...numbered.script, ...numbered.choices]
  return {
    possible: [...offered.map(batchName), ...scenario.faults.map(({ kind }) => `fault ${kind}`)],
    reached: [
      ...offered.filter((number) => batches.has(number)).map(batchName),
      ...[...faults].map((index) => `fault ${scenario.faults[index].kind}`),
    ],
  }
}

/** Runs that never saw one of these have tested less than their number suggests. */
function sometimesOf(world: World): Coverage {
  const { batches, idle, mostInFlight } = world.engineEventsTaken()
  const sent = [...batches].map((number) => world.numbered.batches[number])
  const hasRank = (bit: number): boolean =>
    world.ranks.some(({ attributes, count }) =>
      attributes.subarray(0, count).some((bits) => (bits & bit) !== 0),
    )
  const statements: readonly (readonly [string, boolean])[] = [
    ['a mask is empty', sent.some(({ mask }) => mask.length > 0 && !mask.some(Boolean))],
    ['no proposal is made', sent.some(({ proposal }) => !proposal)],
    ['drafts are rejected', sent.some(({ rejected }) => rejected > 0)],
    ['the window is full', mostInFlight >= world.scenario.topology.window],
    ['the engine goes idle', idle],
    ['a rank raises', hasRank(attribute.raised)],
  ]
  return {
    possible: statements.map(([text]) => `sometimes ${text}`),
    reached: statements.filter(([, isSeen]) => isSeen).map(([text]) => `sometimes ${text}`),
  }
}
