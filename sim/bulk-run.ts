// Random schedules in bulk, decided by a seed alone: every interleaving has a chance, also those
// that the reduction leaves out, so clean runs speak for the reduction as well. Nothing is drawn by
// fast-check and nothing shrinks; that is what makes it an order of magnitude faster than
// property-run.ts. Run k depends on the seed and k only, so runs can be split in any way.

import type { PropertyId } from '../spec/properties.ts'
import { propertyIds } from '../spec/properties.ts'
import type { Scenario } from '../spec/scenario.ts'
import { type Coverage, coverageOf } from './coverage.ts'
import type { Finding } from './rank-model.ts'
import { attribute } from './rank-table.ts'
import { encodeSchedule } from './schedule.ts'
import { mix } from './search/random.ts'
import { endlessPoll, kinds, World } from './world.ts'

/** A run that breaks a property. */
export interface BulkFailure {
  /** Which run of the seed it was; it is found again by `from: index`. */
  readonly index: number
  readonly findings: readonly Finding[]
  /** The same run for `ppcheck replay`, every event of it (reduction `none`). */
  readonly schedule: string
}

/**
 * How often the draw starts at the run's favourite and not anywhere: never, or with probability
 * 1/2, 3/4, 7/8. Each run draws one of them (and whom it favours), so that both close races and
 * ranks that are far apart come up: uniform draws alone never let one fall far behind.
 */
const preferences = [0, 0x8000, 0x18000, 0x38000] as const

/** Nothing is enabled. */
const none = -1

export class BulkRun {
  readonly scenario: Scenario
  private readonly world: World
  private readonly properties: readonly PropertyId[]
  private readonly seed: number
  private readonly state: Int32Array
  /** Slots: ranks, channels, meetings and the engine; whoever may have an event. */
  private readonly slotCount: number
  /** Per rank: local events that change something, so without polls that miss. */
  private readonly localBits: Int32Array
  private readonly ways: number[] = []
  private readonly all: number[] = []
  private key = 0
  /** The favourite: who had the last event, or the same slot for the whole run. */
  private slot = 0
  /** Bits of a random number any of which prefers the favourite. */
  private preference = 0
  /** Does the favourite stay the same? */
  private isFixed = false
  /** Local events that this run prefers; the others of a rank fall behind. */
  private preferred = 0
  private counter = 0
  /** Events of all runs together. */
  events = 0

  constructor(scenario: Scenario, seed: number) {
    const world = new World(scenario)
    this.scenario = scenario
    this.world = world
    this.properties = scenario.properties ?? propertyIds
    this.seed = seed
    this.state = new Int32Array(world.width)
    this.slotCount = world.pp + world.channels.length + world.meetings.length + 1
    this.localBits = Int32Array.from(
      world.ranks,
      ({ model }, rank) => world.localBits(rank) & ~(1 << model.events.pollMiss),
    )
  }

  /** What all runs so far have reached. */
  coverage(): Coverage {
    return coverageOf(this.world)
  }

  /** Local states of each rank that the runs so far have reached. */
  get rankStates(): readonly number[] {
    return this.world.ranks.map(({ count }) => count)
  }

  /**
   * Runs number `from` to before `end`, up to the first failure.
   * @param stride distance of the numbers that are run, for shards
   */
  run(from: number, end: number, stride = 1): BulkFailure | undefined {
    for (let index = from; index < end; index += stride) {
      const findings = this.walk(index, undefined)
      if (findings !== undefined) return { index, findings, schedule: this.scheduleOf(index) }
    }
    return undefined
  }

  /** One run to its end. `choices` collects each event's place among all that were enabled. */
  private walk(index: number, choices: number[] | undefined): readonly Finding[] | undefined {
    const { world, state } = this
    this.key = mix(this.seed, index)
    this.counter = 0
    this.preference = preferences[this.key & 3]
    this.isFixed = (this.key & 4) !== 0
    this.preferred = this.key & 8 ? mix(this.seed, ~index) : -1
    this.slot = this.isFixed ? (this.key >>> 8) % this.slotCount : 0
    world.initial(state)
    for (;;) {
      const event = this.draw()
      if (event === none) return this.ending()
      if (choices !== undefined) {
        world.enabledEvents(state, 0, this.all)
        choices.push(this.all.indexOf(event))
      }
      this.events++
      const findings = event >> 16 === kinds.local ? this.step(event) : world.fire(state, 0, event)
      if (findings !== undefined) {
        const relevant = this.relevant(world.judge(state, 0, findings))
        if (relevant !== undefined) return relevant
      }
      if (this.mayHaveRaised(event) && world.isRaised(state, 0)) return undefined
    }
  }

  /**
   * An enabled event, or `none`. Who moves is drawn first, and then one of its events: no list of
   * all enabled events is made, which is most of the speed. Every enabled event has a chance, not
   * all the same one.
   */
  private draw(): number {
    const { world, state, slotCount, localBits } = this
    const { pp, ranks } = world
    const random = mix(this.key, this.counter++)
    let slot = random & this.preference ? this.slot : ((random >>> 18) * slotCount) >>> 14
    for (let tried = 0; tried < slotCount; tried++) {
      if (slot < pp) {
        const bits = ranks[slot].mask[state[1 + slot]] & localBits[slot]
        if (bits !== 0) {
          if (!this.isFixed) this.slot = slot
          const first = (random & 0x3000) === 0 ? bits : bits & this.preferred
          return (slot << 5) | pickBit(first === 0 ? bits : first, random)
        }
      } else {
        const event = this.shared(slot - pp, random)
        if (event !== none) {
          if (!this.isFixed) this.slot = slot
          return event
        }
      }
      slot = slot + 1 === slotCount ? 0 : slot + 1
    }
    return none
  }

  /** A local event: nearly always one look into the rank's table. */
  private step(event: number): readonly Finding[] | undefined {
    const { world, state } = this
    const slot = 1 + (event >> 5)
    const table = world.ranks[event >> 5]
    const known = table.succ[state[slot] * table.eventCount + (event & 31)]
    if (known <= 0) return world.fire(state, 0, event)
    state[slot] = known - 1
    return undefined
  }

  /** An event of a channel, a meeting or the engine; `none` if it has none now. */
  private shared(number: number, random: number): number {
    const { world, state } = this
    const { channels, meetings } = world
    if (number < channels.length) {
      return world.matchEnabled(state, 0, number) ? (kinds.match << 16) | number : none
    }
    const meeting = number - channels.length
    if (meeting < meetings.length) {
      return world.meetEnabled(state, 0, meeting) ? (kinds.meet << 16) | meeting : none
    }
    return this.engines(random)
  }

  private engines(random: number): number {
    const { world, state, ways } = this
    let count = 0
    if (world.retireEnabled(state, 0)) ways[count++] = kinds.retire << 16
    const alternatives = world.alternativeCount(state, 0)
    for (let k = 0; k < alternatives; k++) ways[count++] = (kinds.dispatch << 16) | k
    if (world.mayIdle(state, 0)) ways[count++] = kinds.idle << 16
    for (let index = 0; index < world.rankFaults.length; index++) {
      if (world.faultEnabled(state, 0, index)) ways[count++] = (kinds.fault << 16) | index
    }
    return count === 0 ? none : ways[(random & 0x7fff) % count]
  }

  private mayHaveRaised(event: number): boolean {
    if (event >> 16 !== kinds.local) return true
    const rank = event >> 5
    const { attributes } = this.world.ranks[rank]
    return (attributes[this.state[1 + rank]] & attribute.raised) !== 0
  }

  private ending(): readonly Finding[] | undefined {
    const { world, state } = this
    const total = world.enabledEvents(state, 0, this.all)
    const polls = total > 0 && world.onlyPolls(this.all, total)
    return this.relevant(polls ? [endlessPoll] : (world.judgeStop(state, 0) ?? []))
  }

  private relevant(findings: readonly Finding[]): readonly Finding[] | undefined {
    const relevant = findings.filter(({ property }) => this.properties.includes(property))
    return relevant.length > 0 ? relevant : undefined
  }

  private scheduleOf(index: number): string {
    const choices: number[] = []
    this.walk(index, choices)
    return encodeSchedule(this.scenario, { reduction: 'none', choices })
  }
}

/** One of the set bits, by the low bits of a random number; returns its position. */
function pickBit(bits: number, random: number): number {
  let rest = bits
  const lower = bits & (bits - 1)
  if (lower !== 0) {
    let count = 0
    for (let each = bits; each !== 0; each &= each - 1) count++
    for (let skip = (random & 0xfff) % count; skip > 0; skip--) rest &= rest - 1
  }
  return 31 - Math.clz32(rest & -rest)
}
