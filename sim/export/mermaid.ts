// A rank's machine as a Mermaid state diagram, read out of the tables that are explored: what is
// drawn is what is checked, with its guards, and nothing else.

import type { Batch } from '../../spec/batch.ts'
import { describeBatch, fullBatch, withEmptyMask } from '../../spec/batch.ts'
import type { Protocol } from '../../spec/program.ts'
import { programOf } from '../../spec/program.ts'
import { createRankMachine } from '../../spec/rank-machine.ts'
import { machineEventList } from '../rank-model.ts'
import { internMachine } from '../tables.ts'

/** The batches that guards can tell apart: with and without tokens needed, and proposals made. */
const batches: readonly Batch[] = [
  fullBatch(1),
  withEmptyMask(fullBatch(1)),
  { ...fullBatch(1), proposal: false },
]

/**
 * The diagram of one rank. States that differ only in the batch are one node; a transition that
 * only some batches take says which.
 */
export function toMermaid(protocol: Protocol, rank: number, pp: number): string {
  const machine = createRankMachine(programOf(protocol, rank, pp))
  const events = machineEventList(batches)
  const table = internMachine(machine, events)
  const names = [...new Set(table.states.map(({ value }) => value))]
  const idOf = (value: string): string => `s${names.indexOf(value)}`
  const batchOf = (state: number): string => {
    const { batch } = table.states[state].context as { batch: Batch }
    return batch.requests === 0 ? '' : describeBatch(batch)
  }
  // Edge (from, event, to) -> the batches that take it.
  const edges = new Map<string, Set<string>>()
  const takers = new Map<string, Set<string>>()
  table.states.forEach(({ value }, state) => {
    events.forEach((event, number) => {
      const next = table.next[state * table.eventCount + number]
      if (next < 0) return
      const batch = event.type === 'EXECUTE' ? describeBatch(event.batch) : batchOf(state)
      const source = `${value}\u0000${event.type}`
      const edge = `${source}\u0000${table.states[next].value}`
      edges.set(edge, (edges.get(edge) ?? new Set()).add(batch))
      takers.set(source, (takers.get(source) ?? new Set()).add(batch))
    })
  })
  const lines = ['stateDiagram-v2', `  [*] --> ${idOf(table.states[0].value)}`]
  for (const name of names) lines.push(`  ${idOf(name)} : ${name.replaceAll(':', ' -')}`)
  for (const [edge, found] of edges) {
    const [from, event, to] = edge.split('\u0000')
    const all = takers.get(`${from}\u0000${event}`) ?? found
    const guard = found.size < all.size ? ` [${[...found].join(' or ')}]` : ''
    lines.push(`  ${idOf(from)} --> ${idOf(to)} : ${event}${guard}`)
  }
  for (const state of table.states) if (state.final) lines.push(`  ${idOf(state.value)} --> [*]`)
  return `${lines.join('\n')}\n`
}
