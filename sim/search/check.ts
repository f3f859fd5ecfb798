// The model checker: random schedules first (milliseconds, and most wedges fall to them), then the
// exhaustive breadth-first search that either proves or finds the shortest counterexample. Where it
// grows large, a best-first search towards stuck states gets its chance in between. The verdict
// says exactly what was covered.

import type { PropertyId } from '../../spec/properties.ts'
import { propertyIds } from '../../spec/properties.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Finding } from '../rank-model.ts'
import { encodeSchedule, scenarioHash } from '../schedule.ts'
import { eventKind, kinds, World } from '../world.ts'
import { Batch } from './batch.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { Reduction } from './expander.ts'
import { Expander } from './expander.ts'
import { fairCycle } from './fair-cycles.ts'
import { Generator } from './random.ts'
import { type Found, Stepper } from './stepper.ts'
import { VisitedStates } from './visited.ts'

export interface CheckOptions {
  readonly reduction?: Reduction
  /** Stop after so many states; the verdict is then bounded. */
  readonly statesMax?: number
  /** Budget of the visited set in bytes. */
  readonly memoryBytes?: number
  /** Go on after a violation and look for one of every property. */
  readonly continue?: boolean
  /** Seed of the random schedules that go before the search. */
  readonly seed?: number
  /** How many random schedules go before the search; 0: none. */
  readonly walks?: number
  /** States of the best-first search that a large search is interrupted for; 0: none. */
  readonly directedStatesMax?: number
  /** States that may be spent on a shorter counterexample once the verdict is known. */
  readonly shortenStatesMax?: number
  /** Asked now and then: is a checkpoint due? It is then handed to `save`. */
  readonly checkpoint?: {
    readonly isDue: () => boolean
    readonly save: (checkpoint: Checkpoint) => void
  }
  /** Go on from here instead of from the initial state; see `checkpointIdentity`. */
  readonly resume?: Checkpoint
  /** Called now and then; returning true stops the search (time limit, Ctrl-C). */
  readonly onProgress?: (progress: CheckProgress) => boolean
}

export interface CheckProgress {
  readonly phase: 'random' | 'search' | 'directed' | 'shorten'
  readonly states: number
  /** States that are known and not yet expanded. */
  readonly queued: number
  readonly fired: number
  readonly bytes: number
}

/** What was covered. Nothing is called exhaustive that is not. */
export type Scope =
  | { readonly kind: 'exhaustive'; readonly runLength: 'any' }
  /** All interleavings of runs of this many steps. */
  | { readonly kind: 'steps'; readonly steps: number }
  /** A budget ended the search. */
  | { readonly kind: 'bounded'; readonly states: number; readonly reason: StopReason }
  /** The search ended at a violation: nothing is said of what it did not reach. */
  | { readonly kind: 'refuted' }

export type StopReason = 'states' | 'memory' | 'stopped'

/** A run that breaks a property. */
export interface Counterexample {
  readonly property: PropertyId
  readonly findings: readonly Finding[]
  readonly choices: readonly number[]
  /** The same as text, for `ppcheck replay`. */
  readonly schedule: string
  /** Was it the shortest in choices among all that the search covers? */
  readonly shortest: boolean
}

export interface Verdict {
  readonly outcome: 'holds' | 'violated' | 'inconclusive'
  readonly scope: Scope
  readonly properties: readonly PropertyId[]
  readonly counterexamples: readonly Counterexample[]
  readonly states: number
  readonly transitions: number
  /** Largest number of choices on a shortest path to any state. */
  readonly depth: number
  readonly bytes: number
  readonly reduction: Reduction
  /** Numbered local states of each rank: what of the machines and devices was reached. */
  readonly rankStates: readonly number[]
  /** Random schedules that were run before the search. */
  readonly walks: number
}

const defaults = {
  statesMax: 50_000_000,
  memoryBytes: 2 ** 30,
  walks: 64,
  walkChoicesMax: 4_000,
  shortenStatesMax: 100_000,
  /** A breadth-first search of so many states is large. */
  largeStates: 100_000,
  directedStatesMax: 50_000,
}

const localStatesMax = 40_000

/**
 * What a checkpoint must agree with: the scenario and the options that change the search's course.
 * Budgets are left out: a search may be resumed with a larger one.
 */
export const checkpointIdentity = (scenario: Scenario, options: CheckOptions): string =>
  [
    scenarioHash(scenario),
    (scenario.properties ?? propertyIds).join('+'),
    options.reduction ?? 'stubborn',
    options.continue === true ? 'continue' : 'first',
    options.seed ?? 1,
    options.walks ?? defaults.walks,
  ].join('/')

/** Explores a scenario and says what holds. Deterministic: same input, same verdict, same bytes. */
export function check(scenario: Scenario, options: CheckOptions = {}): Verdict {
  return new Check(scenario, options).run()
}

class Check {
  private readonly scenario: Scenario
  private readonly options: CheckOptions
  private readonly world: World
  private readonly expander: Expander
  private readonly stepper: Stepper
  private readonly properties: readonly PropertyId[]
  private readonly found = new Map<PropertyId, Found>()
  private stopped: StopReason | undefined
  private walks = 0
  private states = 0
  private bytes = 0
  private depth = 0

  constructor(scenario: Scenario, options: CheckOptions) {
    this.scenario = scenario
    this.options = options
    this.world = new World(scenario)
    this.expander = new Expander(this.world, options.reduction ?? 'stubborn')
    this.properties = scenario.properties ?? propertyIds
    this.stepper = new Stepper(this.expander, this.properties)
  }

  run(): Verdict {
    const { resume } = this.options
    if (resume === undefined) this.walkAtRandom()
    const refuted = this.found.size > 0 && !this.options.continue && resume === undefined
    if (refuted) {
      // The verdict is known; what is left is a shorter way to show it, within a budget.
      this.shorten()
    } else {
      this.search(this.options.statesMax ?? defaults.statesMax, 'search')
    }
    return this.verdict()
  }

  private verdict(): Verdict {
    const { steps } = this.scenario.workload
    const violated = this.found.size > 0
    const complete: Scope =
      steps > 0 ? { kind: 'steps', steps } : { kind: 'exhaustive', runLength: 'any' }
    const scope: Scope =
      this.stopped !== undefined
        ? { kind: 'bounded', states: this.states, reason: this.stopped }
        : violated && !this.options.continue
          ? { kind: 'refuted' }
          : complete
    return {
      outcome: violated ? 'violated' : scope.kind === 'bounded' ? 'inconclusive' : 'holds',
      scope,
      properties: this.properties,
      counterexamples: this.counterexamples(),
      states: this.states,
      transitions: this.expander.fired,
      depth: this.depth,
      bytes: this.bytes,
      reduction: this.expander.reduction,
      rankStates: this.world.ranks.map(({ count }) => count),
      walks: this.walks,
    }
  }

  private counterexamples(): Counterexample[] {
    const inOrder = propertyIds.filter((property) => this.found.has(property))
    return inOrder.map((property) => {
      const { findings, choices } = this.found.get(property) as Found
      const schedule = { reduction: this.expander.reduction, choices }
      return {
        property,
        findings,
        choices,
        schedule: encodeSchedule(this.scenario, schedule),
        shortest: this.shortestKnown,
      }
    })
  }

  private shortestKnown = false

  /** Keeps the first (in a breadth-first search: the shortest) run for each property it breaks. */
  private keep(findings: readonly Finding[], choices: () => readonly number[]): void {
    let path: readonly number[] | undefined
    for (const { property } of findings) {
      if (this.found.has(property)) continue
      path ??= choices()
      this.found.set(property, { findings, choices: path })
    }
  }

  /** Random schedules: at every branching state one of its choices, uniformly. */
  private walkAtRandom(): void {
    const count = this.options.walks ?? defaults.walks
    const random = new Generator(this.options.seed ?? 1)
    for (let walk = 0; walk < count && this.found.size === 0; walk++) {
      this.walks++
      const pick = (_taken: number, total: number): number => (total > 1 ? random.below(total) : 0)
      const found = this.stepper.follow(pick, defaults.walkChoicesMax)
      if (found !== undefined) this.keep(found.findings, () => found.choices)
      if (this.tick('random', 0)) return
    }
  }

  /**
   * Looks for a shorter way to the same violation: breadth first within a budget, and where that
   * does not reach it, by taking back one deviation from the default choice after the other.
   */
  private shorten(): void {
    const before = new Map(this.found)
    this.found.clear()
    const budget = this.options.shortenStatesMax ?? defaults.shortenStatesMax
    const stopped = this.stopped
    this.search(budget, 'shorten')
    const shorter = this.found.size > 0
    this.stopped = stopped
    if (shorter) return
    for (const [property, { choices, findings }] of before) {
      const fewest = this.withFewestDeviations(property, choices)
      this.found.set(property, fewest ?? { choices, findings })
    }
  }

  private withFewestDeviations(
    property: PropertyId,
    choices: readonly number[],
  ): Found | undefined {
    let best: Found | undefined
    let current = [...choices]
    let tries = 400
    // From the end: late deviations are the likeliest to be accidents of the random walk.
    for (let at = current.length - 1; at >= 0 && tries > 0; at--) {
      if (current[at] === 0) continue
      tries--
      const without = current.slice()
      without[at] = 0
      const pick = (taken: number, total: number): number => {
        const wanted = without[taken] ?? 0
        return wanted < total ? wanted : 0
      }
      const found = this.stepper.follow(pick, current.length + 1)
      if (!found?.findings.some((finding) => finding.property === property)) continue
      best = found
      current = [...found.choices]
      at = Math.min(at, current.length)
    }
    return best
  }

  /**
   * Best first: the states with the fewest ways to go on are the nearest to a wedge (places taken,
   * heads blocked). Only ever refutes; what it has seen does not count as covered.
   */
  private directed(): void {
    const { world, expander } = this
    const limit = this.options.directedStatesMax ?? defaults.directedStatesMax
    const visited = new VisitedStates(world.width, this.options.memoryBytes ?? defaults.memoryBytes)
    const state = new Int32Array(world.width)
    const next = new Int32Array(world.width)
    const events: number[] = []
    const ahead: number[] = []
    const buckets: number[][] = []
    const put = (number: number, ways: number): void => {
      buckets[ways] ??= []
      buckets[ways].push(number)
    }
    world.initial(state)
    if (this.stepper.settle(state, 0) !== undefined) return
    put(visited.add(state, 0, -1), 1)
    while (visited.count < limit && this.found.size === 0) {
      const fewest = buckets.find((bucket) => bucket !== undefined && bucket.length > 0)
      if (fewest === undefined) return
      const number = fewest.pop() as number
      visited.read(number, state)
      const total = expander.choices(state, 0, events)
      if (this.stepper.isStop(events, total)) {
        const findings = this.stepper.stopFindings(state, 0, events, total)
        if (findings !== undefined) this.keep(findings, () => this.pathTo(visited, number, -1))
        continue
      }
      for (let index = 0; index < total; index++) {
        next.set(state)
        const findings = this.stepper.advance(next, 0, events[index])
        if (findings !== undefined) {
          this.keep(findings, () => this.pathTo(visited, number, index))
          continue
        }
        const added = visited.add(next, 0, number)
        if (added >= 0) put(added, expander.choices(next, 0, ahead))
      }
      if ((visited.count & 1023) === 0 && this.tick('directed', visited.count, visited)) return
    }
  }

  private search(statesMax: number, phase: CheckProgress['phase']): void {
    const { world, expander } = this
    const { width } = world
    const memory = this.options.memoryBytes ?? defaults.memoryBytes
    const visited = new VisitedStates(width, memory, statesMax)
    const state = new Int32Array(width)
    const batch = new Batch(visited)
    const buffer: number[] = []
    world.initial(state)
    const startedWith = world.localStateCount
    const resume = phase === 'search' ? this.options.resume : undefined
    let triedDirected =
      this.options.continue === true || (resume?.count ?? 0) > defaults.largeStates
    let first = 0
    let levelEnd = 1
    let atOnce: readonly Finding[] | undefined
    if (resume !== undefined) {
      this.restore(resume, visited)
      first = resume.position.number
      levelEnd = resume.position.levelEnd
    } else {
      atOnce = this.stepper.settle(state, 0)
      if (atOnce !== undefined) this.keep(atOnce, () => [])
      visited.add(state, 0, -1)
    }
    for (let number = first; atOnce === undefined; number++) {
      if (batch.isFull || number >= visited.count || number === levelEnd) batch.flush()
      if (number >= visited.count) break
      if (number === levelEnd) {
        this.depth++
        levelEnd = visited.count
      }
      visited.read(number, state)
      const total = expander.choices(state, 0, buffer)
      if (this.stepper.isStop(buffer, total)) {
        const findings = this.stepper.stopFindings(state, 0, buffer, total)
        if (findings !== undefined) this.keep(findings, () => this.pathTo(visited, number, -1))
      } else {
        for (let index = 0; index < total; index++) {
          const at = batch.room(state)
          const findings = this.stepper.advance(batch.states, at, buffer[index])
          if (findings === undefined) batch.keep(number)
          else this.keep(findings, () => this.pathTo(visited, number, index))
        }
      }
      if (this.found.size > 0 && !this.options.continue) break
      if (visited.overflowed) break
      // Where nearly every state has local states of its own, shortening costs more than it gives.
      if (phase === 'shorten' && world.localStateCount > startedWith + localStatesMax) {
        this.stopped = 'states'
        break
      }
      if (phase === 'search' && !triedDirected && visited.count > defaults.largeStates) {
        triedDirected = true
        this.directed()
        if (this.found.size > 0) {
          this.shorten()
          return
        }
      }
      if ((number & 1023) !== 0) continue
      const stop = this.tick(phase, visited.count - number, visited)
      const due = phase === 'search' && this.options.checkpoint?.isDue()
      if (due) {
        batch.flush()
        if (visited.overflowed) break
        this.options.checkpoint?.save(this.checkpointAt(visited, number + 1, levelEnd))
      }
      if (stop) break
    }
    batch.flush()
    const refuted = this.found.size > 0 && !this.options.continue
    if (visited.overflowed && !refuted) {
      this.stopped ??= visited.endsAt
      // Successors in the last batch were refused: who goes on from here makes them once more.
      const from = batch.firstParent
      if (phase === 'search') {
        this.options.checkpoint?.save(this.checkpointAt(visited, from, levelEnd))
      }
    }
    if (this.stopped === undefined && expander.reduction === 'none') this.checkProgress(visited)
    this.shortestKnown = this.stopped === undefined && this.found.size > 0
    this.states = visited.count
    this.bytes = visited.bytes
  }

  /**
   * The full graph is at hand: looks for any weakly fair cycle without progress, not only for loops
   * of missing polls. It must find nothing more (see `isStop`); that it does not is a law of tests.
   */
  private checkProgress(visited: VisitedStates): void {
    const { world, expander } = this
    const wanted = this.properties.includes('P6') && !this.found.has('P6')
    if (!wanted || !world.hasPolls || this.found.size > 0) return
    const state = new Int32Array(world.width)
    const next = new Int32Array(world.width)
    const buffer: number[] = []
    const lasso = fairCycle({
      count: visited.count,
      edges: (node) => {
        visited.read(node, state)
        const total = expander.choices(state, 0, buffer)
        return buffer.slice(0, total).flatMap((event) => {
          next.set(state)
          if (this.stepper.advance(next, 0, event) !== undefined) return []
          const target = visited.find(next, 0)
          return [{ event, target, progress: eventKind(event) === kinds.retire }]
        })
      },
    })
    if (lasso === undefined) return
    const end = lasso.loop[0]
    const around = this.eventsBetween(visited, [...lasso.loop, end])
    const text = `a fair scheduler can follow a cycle for ever: ${around.join('; ')}`
    this.keep([{ property: 'P6', text }], () => this.pathTo(visited, end, -1))
  }

  /** The events of a walk over numbered states, in words. */
  private eventsBetween(visited: VisitedStates, walk: readonly number[]): string[] {
    const { world, expander } = this
    const state = new Int32Array(world.width)
    const next = new Int32Array(world.width)
    const buffer: number[] = []
    return walk.slice(1).map((target, index) => {
      visited.read(walk[index], state)
      const total = expander.choices(state, 0, buffer)
      const event = buffer.slice(0, total).find((each) => {
        next.set(state)
        return this.stepper.advance(next, 0, each) === undefined && visited.find(next, 0) === target
      })
      return event === undefined ? '?' : world.describeEvent(state, 0, event)
    })
  }

  private checkpointAt(visited: VisitedStates, number: number, levelEnd: number): Checkpoint {
    return {
      identity: checkpointIdentity(this.scenario, this.options),
      position: {
        number,
        depth: this.depth,
        levelEnd,
        fired: this.expander.fired,
        walks: this.walks,
        found: [...this.found],
      },
      ...this.world.saveNumbers(),
      count: visited.count,
      ...visited.save(),
    }
  }

  private restore(checkpoint: Checkpoint, visited: VisitedStates): void {
    const { position, count, wide, words, parents } = checkpoint
    this.world.restoreNumbers(checkpoint.engineKeys, checkpoint.rankKeys)
    visited.restore(count, wide, words, parents)
    this.depth = position.depth
    this.expander.fired = position.fired
    this.walks = position.walks
    for (const [property, found] of position.found) this.found.set(property, found)
  }

  private tick(phase: CheckProgress['phase'], queued: number, visited?: VisitedStates): boolean {
    const stop = this.options.onProgress?.({
      phase,
      states: visited?.count ?? 0,
      queued,
      fired: this.expander.fired,
      bytes: visited?.bytes ?? 0,
    })
    if (stop) this.stopped = 'stopped'
    return stop === true
  }

  /** The choices that lead to a state: events are found again by expanding the parents. */
  private pathTo(visited: VisitedStates, number: number, last: number): number[] {
    const numbers: number[] = []
    for (let n = number; n >= 0; n = visited.parents[n]) numbers.push(n)
    numbers.reverse()
    const { width } = visited
    const choices: number[] = []
    const state = new Int32Array(width)
    const from = new Int32Array(width)
    const target = new Int32Array(width)
    const buffer: number[] = []
    for (let i = 0; i + 1 < numbers.length; i++) {
      visited.read(numbers[i + 1], target)
      visited.read(numbers[i], from)
      state.set(from)
      const total = this.expander.choices(state, 0, buffer)
      const events = buffer.slice(0, total)
      const index = events.findIndex((event) => {
        state.set(from)
        this.stepper.advance(state, 0, event)
        return state.every((word, k) => word === target[k])
      })
      choices.push(index)
    }
    return last >= 0 ? [...choices, last] : choices
  }
}
