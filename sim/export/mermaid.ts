// A rank's machine as a Mermaid state diagram, read out of the table that the search runs on: what
// is drawn is what is explored, with its guards, and nothing else. The program is never consulted.

import type { Batch } from '../../spec/batch.ts'
import { describeBatch } from '../../spec/batch.ts'
import { assert } from '../../spec/error.ts'
import { machineEventList } from '../rank-model.ts'
import { numberBatches } from '../workload-batches.ts'
import type { World } from '../world.ts'

/** A transition of the picture, and the batches of the scenario that take it. */
interface Edge {
  readonly from: string
  readonly event: string
  readonly to: string
  readonly batches: Set<string>
}

/**
 * The diagram of one rank of a world. Local states that differ only in the batch are one state of
 * the picture; a transition that not every batch takes says which ones do.
 */
export function mermaid(world: World, rank: number): string {
  assert(rank >= 0 && rank < world.pp, `there is no rank ${rank}`)
  const { table } = world.ranks[rank].model
  const names = [...new Set(table.states.map(({ value }) => value))]
  const idOf = (name: string): string => `s${names.indexOf(name)}`
  const edges = edgesOf(world, rank)
  const takers = new Map<string, Set<string>>()
  for (const { from, event, batches } of edges) {
    const all = takers.get(`${from}/${event}`) ?? new Set<string>()
    for (const batch of batches) all.add(batch)
    takers.set(`${from}/${event}`, all)
  }
  const finals = new Set(table.states.filter(({ final }) => final).map(({ value }) => value))
  return [
    'stateDiagram-v2',
    `  [*] --> ${idOf(table.states[0].value)}`,
    ...names.map((name) => `  ${idOf(name)} : ${labelOf(name)}`),
    ...edges.map(({ from, event, to, batches }) => {
      const isGuarded = batches.size < (takers.get(`${from}/${event}`)?.size ?? 0)
      const guard = isGuarded ? ` [${[...batches].join(' or ')}]` : ''
      return `  ${idOf(from)} --> ${idOf(to)} : ${event}${guard}`
    }),
    ...[...finals].map((name) => `  ${idOf(name)} --> [*]`),
  ].join('\n')
}

function edgesOf(world: World, rank: number): Edge[] {
  const { table } = world.ranks[rank].model
  const events = machineEventList(numberBatches(world.scenario).batches)
  assert(events.length === table.eventCount, 'the table was read out with other events')
  const found = new Map<string, Edge>()
  table.states.forEach(({ value: from, context }, state) => {
    events.forEach((event, number) => {
      const next = table.next[state * table.eventCount + number]
      if (next < 0) return
      const to = table.states[next].value
      const key = [from, event.type, to].join('/')
      const edge = found.get(key) ?? { from, event: event.type, to, batches: new Set<string>() }
      // EXECUTE brings the batch; later transitions find it in the machine's context.
      const { batch } = event.type === 'EXECUTE' ? event : (context as { batch: Batch })
      edge.batches.add(describeBatch(batch))
      found.set(key, edge)
    })
  })
  return [...found.values()]
}

/** A colon ends a label's head in Mermaid, and a semicolon ends the statement. */
const labelOf = (name: string): string => name.replaceAll(':', ' -').replaceAll(';', ',')
