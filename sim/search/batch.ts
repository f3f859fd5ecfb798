// Successors on their way into the set of visited states. They are handed over many at a time,
// because the set is far larger than the caches: see `addAll`. This file mutates by design.

import { batchMax, type VisitedStates } from './visited.ts'

export class Batch {
  /** Words of the successors, one after the other; the last one may still be in the making. */
  readonly states: Int32Array<ArrayBuffer>
  private readonly visited: VisitedStates
  private readonly parents = new Int32Array(batchMax)
  private count = 0

  constructor(visited: VisitedStates) {
    this.visited = visited
    this.states = new Int32Array(batchMax * visited.width)
  }

  /** Is it worth handing over? Half full: one state's successors seldom fill the other half. */
  get isFull(): boolean {
    return this.count >= batchMax / 2
  }

  /** Copies a state to the end, for its successor to be made there. @returns where it lies. */
  room(state: Int32Array): number {
    if (this.count === batchMax) this.flush()
    const { states } = this
    const { width } = this.visited
    const at = this.count * width
    for (let i = 0; i < width; i++) states[at + i] = state[i]
    return at
  }

  /** Keeps what was made in the last `room`, reached from this parent. */
  keep(parent: number): void {
    this.parents[this.count++] = parent
  }

  /** The oldest state whose successors were in what was last handed over. */
  get firstParent(): number {
    return this.parents[0]
  }

  /** Hands all over, in the order in which they were made. */
  flush(): void {
    if (this.count > 0) this.visited.addAll(this.states, this.count, this.parents)
    this.count = 0
  }
}
