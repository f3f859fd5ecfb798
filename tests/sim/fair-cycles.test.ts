// Laws of the fair-cycle search, on graphs small enough to see: the cases that naive checkers get
// wrong are cycles that join, and joins that are no cycles.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Edge, fairCycle, type Graph } from '../../sim/search/fair-cycles.ts'

/** `from event to` triples; an event in capitals is progress. */
const graphOf = (count: number, ...triples: [number, string, number][]): Graph => {
  const names = [...new Set(triples.map(([, name]) => name))]
  const edges = Array.from({ length: count }, (): Edge[] => [])
  for (const [from, name, target] of triples) {
    const progress = name === name.toUpperCase()
    edges[from].push({ event: names.indexOf(name), target, progress })
  }
  return { count, edges: (node) => edges[node] }
}

describe('a fair cycle without progress is found', () => {
  test('a busy loop from which nothing else is possible', () => {
    const graph = graphOf(2, [0, 'go', 1], [1, 'poll', 1])
    expect(fairCycle(graph)).toEqual({ stem: [0, 1], loop: [1] })
  })

  test('two cycles that share a node, where neither alone is fair', () => {
    // In node 1 both a and b are enabled; only the walk through both loops takes both.
    const graph = graphOf(
      4,
      [0, 'go', 1],
      [1, 'a', 2],
      [1, 'b', 3],
      [2, 'a2', 1],
      [2, 'b', 3],
      [3, 'b2', 1],
      [3, 'a', 2],
    )
    const lasso = fairCycle(graph)
    expect(new Set(lasso?.loop)).toEqual(new Set([1, 2, 3]))
  })

  test('a cycle that is entered from the middle of another path', () => {
    const graph = graphOf(5, [0, 'a', 1], [1, 'b', 2], [2, 'c', 3], [3, 'd', 2], [1, 'e', 4])
    expect(fairCycle(graph)?.loop).toEqual([2, 3])
  })
})

describe('what is no fair cycle is not reported', () => {
  test('a join of two paths (a DAG) is no cycle', () => {
    const graph = graphOf(4, [0, 'a', 1], [0, 'b', 2], [1, 'b', 3], [2, 'a', 3])
    expect(fairCycle(graph)).toBeUndefined()
  })

  test('a cycle that passes through progress', () => {
    const graph = graphOf(2, [0, 'a', 1], [1, 'RETIRE', 0])
    expect(fairCycle(graph)).toBeUndefined()
  })

  test('a poll while something else stays enabled: a fair scheduler leaves the loop', () => {
    const graph = graphOf(2, [0, 'poll', 0], [0, 'go', 1], [1, 'DONE', 1])
    expect(fairCycle(graph)).toBeUndefined()
  })

  test('an event enabled all along the cycle, which leads out of it', () => {
    const graph = graphOf(3, [0, 'a', 1], [1, 'b', 0], [0, 'out', 2], [1, 'out', 2], [2, 'END', 2])
    expect(fairCycle(graph)).toBeUndefined()
  })

  test('but an event that is enabled only now and then need not be taken', () => {
    const graph = graphOf(3, [0, 'a', 1], [1, 'b', 0], [0, 'out', 2], [2, 'END', 2])
    expect(fairCycle(graph)?.loop.length).toBe(2)
  })
})

test('on random graphs the lasso is a walk of the graph and its loop is closed and fair', () => {
  const arbitrary = fc.array(
    fc.tuple(fc.nat({ max: 6 }), fc.constantFrom('a', 'b', 'c', 'P'), fc.nat({ max: 6 })),
    { maxLength: 16 },
  )
  fc.assert(
    fc.property(arbitrary, (triples) => {
      const graph = graphOf(7, [0, 'start', 0], ...triples)
      const lasso = fairCycle(graph)
      if (lasso === undefined) return
      const { loop } = lasso
      const enabledAlways = new Set(graph.edges(loop[0]).map(({ event }) => event))
      const taken = new Set<number>()
      loop.forEach((node, i) => {
        const next = loop[(i + 1) % loop.length]
        const step = graph.edges(node).filter((e) => e.target === next && !e.progress)
        expect(step.length).toBeGreaterThan(0)
        for (const { event } of step) taken.add(event)
        const here = new Set(graph.edges(node).map(({ event }) => event))
        for (const event of enabledAlways) if (!here.has(event)) enabledAlways.delete(event)
      })
      for (const event of enabledAlways) expect(taken).toContain(event)
    }),
    { seed: 7, numRuns: 500 },
  )
})
