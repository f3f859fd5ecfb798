// Progress under weak fairness (P6): is there a cycle without progress that a fair scheduler could
// follow for ever? Strongly connected components of the graph without its progress edges are
// judged as wholes. That is complete for weak fairness: an event that is enabled in all states of a
// component and never taken inside it is so in every part of the component as well.

/** A finite graph, numbered from 0, all nodes reachable from node 0. */
export interface Graph {
  readonly count: number
  /** Edges of a node: what happens, where it leads, and whether it is progress. */
  readonly edges: (node: number) => readonly Edge[]
}

export interface Edge {
  /** Names what happens; equal names in different nodes are the same event. */
  readonly event: number
  readonly target: number
  readonly progress: boolean
}

/** A run that reaches a cycle and can stay on it for ever: the stem's nodes, then the loop's. */
export interface Lasso {
  readonly stem: readonly number[]
  readonly loop: readonly number[]
}

/**
 * Finds a reachable, weakly fair cycle without a progress edge.
 * @returns the lasso with the shortest stem among the first such component, or undefined.
 */
export function fairCycle(graph: Graph): Lasso | undefined {
  for (const component of components(graph)) {
    if (!isFair(graph, component)) continue
    const loop = tour(graph, component)
    return { stem: pathTo(graph, loop[0]), loop }
  }
  return undefined
}

const quiet = (graph: Graph, node: number): Edge[] =>
  graph.edges(node).filter(({ progress }) => !progress)

/** Tarjan's algorithm, iterative: components that contain a cycle, in order of completion. */
function* components(graph: Graph): Generator<Set<number>> {
  const index = new Int32Array(graph.count).fill(-1)
  const low = new Int32Array(graph.count)
  const onStack = new Uint8Array(graph.count)
  const stack: number[] = []
  let next = 0
  for (let root = 0; root < graph.count; root++) {
    if (index[root] >= 0) continue
    const work: { node: number; edges: Edge[]; at: number }[] = []
    const enter = (node: number): void => {
      index[node] = next
      low[node] = next++
      stack.push(node)
      onStack[node] = 1
      work.push({ node, edges: quiet(graph, node), at: 0 })
    }
    enter(root)
    while (work.length > 0) {
      const frame = work[work.length - 1]
      const { node, edges } = frame
      if (frame.at < edges.length) {
        const { target } = edges[frame.at++]
        if (index[target] < 0) enter(target)
        else if (onStack[target]) low[node] = Math.min(low[node], index[target])
        continue
      }
      work.pop()
      const parent = work[work.length - 1]
      if (parent !== undefined) low[parent.node] = Math.min(low[parent.node], low[node])
      if (low[node] !== index[node]) continue
      const component = new Set<number>()
      for (;;) {
        const member = stack.pop() as number
        onStack[member] = 0
        component.add(member)
        if (member === node) break
      }
      const selfLoop = edges.some(({ target }) => target === node)
      if (component.size > 1 || selfLoop) yield component
    }
  }
}

/** Is every event that is enabled throughout the component also taken inside it? */
function isFair(graph: Graph, component: ReadonlySet<number>): boolean {
  let always: Set<number> | undefined
  const taken = new Set<number>()
  for (const node of component) {
    const edges = graph.edges(node)
    const enabled = new Set(edges.map(({ event }) => event))
    always = always === undefined ? enabled : new Set([...always].filter((e) => enabled.has(e)))
    for (const { event, target, progress } of edges) {
      if (!progress && component.has(target)) taken.add(event)
    }
  }
  return [...(always ?? [])].every((event) => taken.has(event))
}

/** A closed walk over every edge inside the component (so that it takes every event it must). */
function tour(graph: Graph, component: ReadonlySet<number>): number[] {
  const nodes = [...component].sort((a, b) => a - b)
  const inside = (node: number): Edge[] =>
    quiet(graph, node).filter(({ target }) => component.has(target))
  const walk: number[] = [nodes[0]]
  const goTo = (target: number): void => {
    walk.push(...between(inside, walk[walk.length - 1], target).slice(1))
  }
  const done = new Set<number>()
  for (const node of nodes) {
    for (const { event, target } of inside(node)) {
      if (done.has(event)) continue
      done.add(event)
      goTo(node)
      walk.push(target)
    }
  }
  goTo(nodes[0])
  return walk.length > 1 ? walk.slice(0, -1) : walk
}

const pathTo = (graph: Graph, target: number): number[] =>
  between((node) => graph.edges(node), 0, target)

/** Nodes of a shortest path, both ends included. */
function between(edges: (node: number) => readonly Edge[], from: number, to: number): number[] {
  const cameFrom = new Map<number, number>([[from, -1]])
  const queue = [from]
  for (let head = 0; head < queue.length && !cameFrom.has(to); head++) {
    for (const { target } of edges(queue[head])) {
      if (cameFrom.has(target)) continue
      cameFrom.set(target, queue[head])
      queue.push(target)
    }
  }
  const path: number[] = []
  for (let node = to; node >= 0; node = cameFrom.get(node) ?? -1) path.push(node)
  return path.reverse()
}
