// One run of the world: fires events, runs to closure, and says when a property is broken or the
// run has ended. What the search and the random schedules have in common.

import type { PropertyId } from '../../spec/properties.ts'
import type { Finding } from '../rank-model.ts'
import { endlessPoll, type World } from '../world.ts'
import type { Closure, Expander } from './expander.ts'

/** A run that breaks a property: what it broke, and the choices that lead there. */
export interface Found {
  readonly findings: readonly Finding[]
  readonly choices: readonly number[]
}

/** Chooses among `total` ways to go on after `taken` choices. */
export type Pick = (taken: number, total: number, events: readonly number[]) => number

export class Stepper {
  readonly world: World
  readonly expander: Expander
  private readonly properties: readonly PropertyId[]
  private readonly closure: Closure = { findings: undefined, events: [] }
  private readonly state: Int32Array
  private readonly buffer: number[] = []

  constructor(expander: Expander, properties: readonly PropertyId[]) {
    this.world = expander.world
    this.expander = expander
    this.properties = properties
    this.state = new Int32Array(this.world.width)
  }

  /** Runs once, asking `pick` at every branching state, until something breaks or ends. */
  follow(pick: Pick, choicesMax: number): Found | undefined {
    const { state, buffer } = this
    const choices: number[] = []
    this.world.initial(state)
    let findings = this.settle(state, 0)
    while (findings === undefined && choices.length < choicesMax) {
      const total = this.expander.choices(state, 0, buffer)
      if (this.isStop(buffer, total)) {
        findings = this.stopFindings(state, 0, buffer, total)
        break
      }
      const index = pick(choices.length, total, buffer)
      choices.push(index)
      findings = this.advance(state, 0, buffer[index])
    }
    return findings === undefined ? undefined : { findings, choices }
  }

  /**
   * Fires an event and runs to closure, in place. The hot loop: it allocates nothing.
   * @returns the findings that end this run, if any.
   */
  advance(state: Int32Array, at: number, event: number): readonly Finding[] | undefined {
    this.expander.fired++
    const findings = this.world.fire(state, at, event)
    if (findings !== undefined) {
      const relevant = this.relevant(this.world.judge(state, at, findings))
      if (relevant !== undefined) return relevant
    }
    return this.expander.reduction === 'none' ? undefined : this.settle(state, at)
  }

  /** Runs to closure; a finding of a property that is not asked for does not end the run. */
  settle(state: Int32Array, at: number): readonly Finding[] | undefined {
    for (;;) {
      this.expander.close(state, at, this.closure, false)
      const { findings } = this.closure
      if (findings === undefined) return undefined
      const relevant = this.relevant(findings)
      if (relevant !== undefined) return relevant
    }
  }

  private relevant(findings: readonly Finding[]): readonly Finding[] | undefined {
    const relevant = findings.filter(({ property }) => this.properties.includes(property))
    return relevant.length > 0 ? relevant : undefined
  }

  /** What is wrong with a state in which nothing can move, or only polls that miss. */
  stopFindings(
    state: Int32Array,
    at: number,
    events: readonly number[],
    total: number,
  ): readonly Finding[] | undefined {
    if (total === 0) return this.relevant(this.world.judgeStop(state, at) ?? [])
    return this.world.onlyPolls(events, total) ? this.relevant([endlessPoll]) : undefined
  }

  /**
   * Does the run end here? Every event but a poll that misses makes irrevocable headway, so a run
   * without progress is one that ends in misses only: with nothing else enabled, that loop is fair.
   */
  isStop(events: readonly number[], total: number): boolean {
    return total === 0 || this.world.onlyPolls(events, total)
  }
}
