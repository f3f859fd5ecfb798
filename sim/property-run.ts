// Property runs with fast-check: scenarios of every smaller size, scripts of batches and schedules
// are drawn, run on the same tables as the search, and what fails is shrunken to something that a
// person can read. A schedule is a list of deviations from a default scheduler that always takes
// the first way to go on: such lists shrink to the one or two that matter. (Lists of all choices
// were tried elsewhere and shrink to eighty meaningless ones.)

import fc from 'fast-check'
import { fail } from '../spec/error.ts'
import type { PropertyId } from '../spec/properties.ts'
import { propertyIds } from '../spec/properties.ts'
import type { Scenario } from '../spec/scenario.ts'
import { encodeSchedule } from './schedule.ts'
import { Expander } from './search/expander.ts'
import { mix } from './search/random.ts'
import { type Found, Stepper } from './search/stepper.ts'
import { eventArgument, eventKind, kinds, World } from './world.ts'

/** One size of the engine and length of the run, with its scenario (of bounded steps). */
export interface Size {
  readonly pp: number
  readonly steps: number
  readonly scenario: Scenario
}

/** From one way to go on to another: at the `at`-th branching state take the `pick`-th way. */
export interface Deviation {
  readonly at: number
  readonly pick: number
}

/** What fast-check draws and shrinks. */
export interface Case {
  /** Index into the sizes, smallest first. */
  readonly size: number
  /** What each step's batch (or fault of its dispatch) is: index into the alternatives. */
  readonly script: readonly number[]
  readonly deviations: readonly Deviation[]
}

export interface PropertyRunOptions {
  readonly runs: number
  readonly seed: number
  /** Where an earlier run failed: only that case is run again, with its shrinking. */
  readonly path?: string
  readonly properties?: readonly PropertyId[]
}

/** A case that fails, as small as shrinking made it. */
export interface PropertyFailure {
  readonly size: Size
  readonly case: Case
  readonly found: Found
  readonly schedule: string
  /** Runs until the first failure, and steps of shrinking after it. */
  readonly runs: number
  readonly shrinks: number
  /** Give it back as `path`, with the same seed, to come here at once. */
  readonly path: string
}

export interface PropertyRun {
  readonly runs: number
  readonly failure: PropertyFailure | undefined
  /** Choices that were made in all runs together. */
  readonly choices: number
  /** Runs that differ in size or in any choice; what the reduction leaves may be few. */
  readonly different: number
  readonly coverage: Coverage
}

/** What the runs have reached, for statements of the kind "sometimes". */
export interface Coverage {
  /** Runs of each size, as `pp 3, 2 steps`. */
  readonly sizes: Readonly<Record<string, number>>
  /** How often each alternative of the engine was dispatched. */
  readonly dispatches: Readonly<Record<string, number>>
  /** Per operation (`rank 0: host posts …`): was it ever reached in any size? */
  readonly operations: Readonly<Record<string, number>>
  /** Runs that deviated from the default scheduler at all. */
  readonly deviating: number
}

const deviationsMax = 24
/** Branching states beyond this are not deviated at; runs rarely have more. */
const atMax = 400
const choicesMax = 4_000
/** Different runs that are counted; a Set ends at four times as many. */
const differentMax = 2 ** 22
/** Runs in each smaller size, once something has failed. */
const smallerRuns = 200
/** Runs that fast-check makes in one go; each slice has a seed of its own. */
const sliceRuns = 500

/** The largest failure probability that so many clean runs exclude with 95 % confidence. */
export const excludedProbability = (runs: number): number => 1 - 0.05 ** (1 / runs)

export class PropertyRunner {
  private readonly sizes: readonly Size[]
  private readonly options: PropertyRunOptions
  private readonly steppers: (Stepper | undefined)[] = []
  private readonly properties: readonly PropertyId[]
  private readonly reached = {
    sizes: new Map<string, number>(),
    dispatches: new Map<string, number>(),
    deviating: 0,
  }
  private choices = 0
  /** Digests of all runs, in 53 bits: two that collide would be counted as one. */
  private readonly different = new Set<number>()
  private slice = 0
  private done = 0
  private failure: PropertyFailure | undefined

  /** @param sizes smallest first: shrinking goes towards the front. */
  constructor(sizes: readonly Size[], options: PropertyRunOptions) {
    if (sizes.length === 0) fail('PPC120', 'there is no size to run')
    this.sizes = sizes
    this.options = options
    this.properties = options.properties ?? sizes[0].scenario.properties ?? propertyIds
  }

  /** Runs the next slice. @returns false when all have run or a case has failed. */
  advance(): boolean {
    const { runs, path } = this.options
    if (path !== undefined) {
      this.again(path)
      return false
    }
    const count = Math.min(sliceRuns, runs - this.done)
    const failure = this.runSlice(this.slice++, count, undefined)
    this.done += failure === undefined ? count : failure.runs
    if (failure !== undefined) this.failure = { ...failure, runs: this.done }
    return failure === undefined && this.done < runs
  }

  /** What has come out so far. */
  result(): PropertyRun {
    const { done, failure, choices, different } = this
    return { runs: done, failure, choices, different: different.size, coverage: this.coverage() }
  }

  /** Runs all. */
  run(): PropertyRun {
    while (this.advance());
    return this.result()
  }

  private again(path: string): void {
    const [, slice, inner] = /^(\d{1,7})\/(\d+(?::\d+)*)$/.exec(path) ?? []
    if (inner === undefined) {
      fail('PPC121', `a path looks like 0/17:1:2, got ${JSON.stringify(path)} (--path)`)
    }
    const failure = this.runSlice(Number(slice), 1, inner)
    if (failure === undefined) {
      fail('PPC121', 'nothing fails at this path: it is of another property, seed or scenario')
    }
    this.done = 1
    this.failure = failure
  }

  private runSlice(
    slice: number,
    count: number,
    path: string | undefined,
  ): PropertyFailure | undefined {
    const sizes = fc.nat({ max: this.sizes.length - 1 })
    const property = fc.property(this.cases(sizes), (each) => this.follow(each) === undefined)
    const result = fc.check(property, {
      seed: this.seedOf(slice),
      numRuns: count,
      ...(path === undefined ? {} : { path }),
    })
    if (!result.failed || result.counterexample === null) return undefined
    const [first] = result.counterexample
    const { each, shrinks } = this.smallest(first, slice)
    const found = this.follow(each)
    const size = this.sizes[each.size]
    if (found === undefined) return fail('PPC305', 'a case fails once and passes once')
    return {
      size,
      case: this.canonical(each),
      found,
      schedule: encodeSchedule(size.scenario, { reduction: 'stubborn', choices: found.choices }),
      runs: result.numRuns,
      shrinks: result.numShrinks + shrinks,
      path: `${slice}/${result.counterexamplePath ?? ''}`,
    }
  }

  private readonly seedOf = (slice: number): number => mix(this.options.seed, slice) | 0

  /**
   * Looks for the same violation in every smaller size, smallest first: from a large one, shrinking
   * gets to a small one only if the very same deviations happen to fail there as well.
   */
  private smallest(first: Case, slice: number): { each: Case; shrinks: number } {
    const broken = this.follow(first)?.findings[0].property
    for (let size = 0; size < first.size; size++) {
      const property = fc.property(
        this.cases(fc.constant(size)),
        (each) => this.follow(each)?.findings[0].property !== broken,
      )
      const result = fc.check(property, {
        seed: this.seedOf(slice),
        numRuns: smallerRuns,
        examples: [[{ ...first, size }]],
      })
      if (result.failed && result.counterexample !== null) {
        return { each: result.counterexample[0], shrinks: result.numShrinks }
      }
    }
    return { each: first, shrinks: 0 }
  }

  private cases(size: fc.Arbitrary<number>): fc.Arbitrary<Case> {
    const steps = Math.max(...this.sizes.map((each) => each.steps))
    const deviation = fc.record({
      at: fc.nat({ max: atMax }),
      pick: fc.integer({ min: 1, max: 31 }),
    })
    return fc.record({
      size,
      script: fc.array(fc.nat({ max: 255 }), { maxLength: steps, size: 'max' }),
      deviations: fc.oneof(
        { withCrossShrink: true },
        fc.constant<Deviation[]>([]),
        fc.array(deviation, { maxLength: 3, size: 'max' }),
        fc.array(deviation, { maxLength: deviationsMax, size: 'max' }),
      ),
    })
  }

  private stepper(size: number): Stepper {
    let stepper = this.steppers[size]
    if (stepper === undefined) {
      const world = new World(this.sizes[size].scenario)
      stepper = new Stepper(new Expander(world, 'stubborn'), this.properties)
      this.steppers[size] = stepper
    }
    return stepper
  }

  /** Runs a case. Equal cases, equal runs. */
  private follow(each: Case): Found | undefined {
    const stepper = this.stepper(each.size)
    const wanted = new Map(each.deviations.map(({ at, pick }) => [at, pick]))
    const { dispatches } = this.reached
    let dispatched = 0
    let branching = 0
    let deviates = false
    let [high, low] = [each.size + 1, ~each.size]
    const remember = (index: number): number => {
      high = mix(high, index)
      low = mix(low ^ 0x5bd1e995, index)
      return index
    }
    const found = stepper.follow((_taken, total, events) => {
      this.choices++
      // The engine's own choice is the script's: which batch, and whether to go idle.
      if (eventKind(events[0]) === kinds.dispatch) {
        const index = (each.script[dispatched++] ?? 0) % total
        const event = events[index]
        const key =
          eventKind(event) === kinds.dispatch ? `alternative ${eventArgument(event)}` : 'idle'
        dispatches.set(key, (dispatches.get(key) ?? 0) + 1)
        return remember(index)
      }
      if (total === 1) return 0
      const pick = wanted.get(branching++)
      if (pick === undefined) return remember(0)
      deviates = deviates || pick % total !== 0
      return remember(pick % total)
    }, choicesMax)
    if (this.different.size < differentMax) this.different.add((high % 2 ** 21) * 2 ** 32 + low)
    const { pp, steps } = this.sizes[each.size]
    const key = `pp ${pp}, ${steps} ${steps === 1 ? 'step' : 'steps'}`
    this.reached.sizes.set(key, (this.reached.sizes.get(key) ?? 0) + 1)
    if (deviates) this.reached.deviating++
    return found
  }

  /** Without what has no effect: later duplicates and trailing defaults. */
  private canonical(each: Case): Case {
    const last = new Map(each.deviations.map((deviation) => [deviation.at, deviation]))
    const deviations = [...last.values()].sort((a, b) => a.at - b.at)
    return { ...each, deviations }
  }

  private coverage(): Coverage {
    const operations = new Map<string, number>()
    for (const stepper of this.steppers) {
      if (stepper === undefined) continue
      for (const [text, reached] of operationsReached(stepper.world)) {
        operations.set(text, (operations.get(text) ?? 0) + reached)
      }
    }
    const sorted = (map: ReadonlyMap<string, number>): Record<string, number> =>
      Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
    return {
      sizes: sorted(this.reached.sizes),
      dispatches: sorted(this.reached.dispatches),
      operations: sorted(operations),
      deviating: this.reached.deviating,
    }
  }
}

/** Every operation by role: in how many local states a host stood at it. */
function operationsReached(world: World): Map<string, number> {
  const found = new Map<string, number>()
  world.ranks.forEach((table, rank) => {
    const { model } = table
    const role = rank === world.pp - 1 ? 'last' : rank === 0 ? 'first' : 'middle'
    const key = (op: number): string => `${role}: ${model.operations[op].name}`
    for (let op = 0; op < model.operations.length; op++) {
      if (!found.has(key(op))) found.set(key(op), 0)
    }
    for (let number = 0; number < table.count; number++) {
      const op = model.standsAt(table.at(number))
      if (op >= 0) found.set(key(op), (found.get(key(op)) ?? 0) + 1)
    }
  })
  return found
}
