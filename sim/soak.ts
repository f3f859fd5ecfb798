// A long run of the whole engine: the scheduler of requests decides what is in each batch, the
// world carries it out in virtual time, every property is watched. By default the stress run of
// the field report: 66 minutes on eight GPUs.

import { batchFrom, batchKey } from '../spec/batch.ts'
import { fail } from '../spec/error.ts'
import type { BatchInput, Scenario } from '../spec/scenario.ts'
import type { Trace } from './replay.ts'
import { Generator } from './search/random.ts'
import type { Costs, RunEnd, Wish } from './timed-run.ts'
import { TimedRun } from './timed-run.ts'
import type { RequestPlan, ScheduledStep, SchedulerCounts } from './workload.ts'
import { RequestScheduler } from './workload.ts'
import { World } from './world.ts'

/** What clients do. */
export interface Traffic {
  /** Streams of clients, at least and at most, and how many requests each has open at a time. */
  readonly streams: readonly [number, number]
  readonly requestsPerStream: number
  /** Prompts of a long request in tokens, and how many such requests there are. */
  readonly longPrompt: readonly [number, number]
  readonly longRequests: number
  readonly shortPrompt: readonly [number, number]
  /** Requests that end at their length, and requests that stop by themselves. */
  readonly lengthFinishes: number
  readonly stops: number
  readonly aborts: number
  readonly maxTokens: readonly [number, number]
}

export interface SoakOptions {
  readonly iterations: number
  readonly rows: number
  readonly tokenBudget: number
  readonly cacheTokens: number
  readonly traffic: Traffic
  readonly costs: Costs
  readonly seed: number
}

/** The report's stress run: 12 rows, 256 tokens a step, 14 prefills of 200 000 tokens. */
export const stressShape: Omit<SoakOptions, 'seed'> = {
  iterations: 35_924,
  rows: 12,
  tokenBudget: 256,
  cacheTokens: 900_000,
  traffic: {
    streams: [2, 4],
    requestsPerStream: 3,
    longPrompt: [200_000, 204_800],
    longRequests: 14,
    shortPrompt: [16, 4_000],
    lengthFinishes: 25,
    stops: 1,
    aborts: 0,
    maxTokens: [2_200, 4_600],
  },
  costs: {
    hostUs: 15,
    // So much that the run takes about the report's 66 minutes of virtual time.
    forwardUs: 400,
    forwardPerTokenUs: 120,
    draftUs: 2_500,
    otherKernelUs: 300,
    pairUs: 30,
    pairPerTokenUs: 1,
    collectiveUs: 60,
    cpuCollectiveUs: 250,
    dispatchUs: 120,
    replyUs: 80,
    hiccupEvery: 5_000,
    hiccupUs: 400_000,
  },
}

/** The batches that a protocol can tell apart, as choices of a scenario for a soak. */
export const soakChoices: readonly BatchInput[] = [false, true].flatMap((frees) => [
  { frees },
  { frees, proposal: false },
  { frees, mask: 'empty' as const },
  { frees, empty: true },
])

export interface SoakReport {
  readonly end: RunEnd
  readonly iterations: number
  /** Steps dispatched, retired; events of the world. */
  readonly dispatched: number
  readonly retired: number
  readonly events: number
  readonly virtualUs: number
  readonly counts: SchedulerCounts
  /** Tokens that each rank has adopted; the last rank's are those that were sampled. */
  readonly tokensByRank: readonly number[]
  /** Steps whose tokens not every rank has adopted although the run has drained. */
  readonly disagreements: number
  /** Gaps of more than `stallUs` between two replies, in virtual time. */
  readonly stalls: number
  readonly longestGapUs: number
  /** Steps in flight over the run, the largest of each of 60 equal parts. */
  readonly window: readonly number[]
  /** How often each kind of batch was sent. */
  readonly batches: Readonly<Record<string, number>>
  readonly findings: Trace['findings']
}

const windowParts = 60
/** An engine that answers nothing for ten seconds is called stalled. */
const stallUs = 10_000_000

export class Soak {
  private readonly world: World
  private readonly run: TimedRun
  private readonly scheduler: RequestScheduler
  private readonly options: SoakOptions
  private readonly random: Generator
  private readonly plans: RequestPlan[] = []
  private readonly alternatives = new Map<string, number>()
  private openWanted = 0
  /** Per step that samples: tokens that came out, and how many ranks have adopted them. */
  private readonly slotTokens: number[] = []
  private readonly adoptions: number[] = []
  private readonly tokensByRank: number[]
  private readonly gaps: number[] = []
  private readonly window: number[] = []
  private readonly batches: Record<string, number> = {}
  private readonly stepsInFlight: { readonly step: ScheduledStep; readonly slot: number }[] = []
  private lastReplyUs = 0

  /** @param scenario endless, with `soakChoices` as its batches. */
  constructor(scenario: Scenario, options: SoakOptions) {
    if (scenario.workload.steps !== 0) fail('PPC202', 'a soak needs an endless workload')
    this.options = options
    this.world = new World(scenario)
    const { pp, drafts } = scenario.topology
    const { rows, tokenBudget, cacheTokens, seed } = options
    this.scheduler = new RequestScheduler({ pp, rows, tokenBudget, drafts, cacheTokens }, seed)
    this.random = new Generator(seed ^ 0x5eed)
    this.plans.push(...this.plan())
    this.openWanted = this.openRequests()
    this.tokensByRank = new Array<number>(pp).fill(0)
    this.numberAlternatives(scenario)
    const driver = {
      next: (step: number) => this.next(step),
      retired: () => this.retired(),
      adopted: (rank: number, slot: number) => this.adopted(rank, slot),
    }
    this.run = new TimedRun(this.world, options.costs, driver, seed)
  }

  get iterations(): number {
    return this.run.retired
  }

  /** Goes on until so many steps have come back in all. @returns false when the run has ended. */
  advance(iterations: number): boolean {
    const last = this.options.iterations
    const part = Math.max(1, Math.ceil(last / windowParts))
    // The last part is drained as well.
    while (this.run.retired < iterations || iterations >= last) {
      if (!this.run.step()) return false
      const index = Math.min(windowParts - 1, Math.floor(this.run.retired / part))
      if (index > this.window.length - 1) {
        this.window.push(this.run.occupancy)
        this.run.occupancy = 0
      }
    }
    return true
  }

  report(): SoakReport {
    const { run, world } = this
    const isDrained = run.end === 'done'
    const receivers = world.pp - 1
    const sorted = [...this.gaps].sort((a, b) => a - b)
    return {
      end: run.end,
      iterations: Math.min(run.retired, this.options.iterations),
      dispatched: run.dispatched,
      retired: run.retired,
      events: run.events,
      virtualUs: Math.round(run.nowUs),
      counts: this.scheduler.counts,
      tokensByRank: this.tokensByRank,
      disagreements: isDrained ? this.adoptions.filter((count) => count !== receivers).length : 0,
      stalls: sorted.filter((gap) => gap > stallUs).length,
      longestGapUs: Math.round(sorted.at(-1) ?? 0),
      window: this.window,
      batches: this.batches,
      findings: run.findings,
    }
  }

  /** The end of the run as a trace, for an explanation. */
  trace(): Trace {
    const { run, world } = this
    const { scenario } = world
    const { findings, state, dispatched } = run
    return {
      scenario,
      world,
      events: run.recent(),
      findings,
      loop: [],
      final: state,
      dispatched,
      choicesLeft: 0,
    }
  }

  private plan(): RequestPlan[] {
    const { traffic } = this.options
    const { lengthFinishes, stops, aborts, longRequests } = traffic
    const total = lengthFinishes + stops + aborts
    return Array.from({ length: total }, (_, index): RequestPlan => {
      // Long prompts are spread over the run, as evenly as whole numbers allow.
      const isLong =
        Math.floor(((index + 1) * longRequests) / total) >
        Math.floor((index * longRequests) / total)
      const promptTokens = this.between(isLong ? traffic.longPrompt : traffic.shortPrompt)
      const maxTokens = this.between(traffic.maxTokens)
      const kind =
        index < lengthFinishes ? 'length' : index < lengthFinishes + stops ? 'stop' : 'abort'
      const early = 1 + this.random.below(Math.max(1, Math.floor(maxTokens / 4)))
      return {
        promptTokens,
        maxTokens,
        ...(kind === 'stop' ? { stopAfter: early } : {}),
        ...(kind === 'abort' ? { abortAfter: early } : {}),
      }
    })
  }

  private openRequests(): number {
    const { streams, requestsPerStream } = this.options.traffic
    return this.between(streams) * requestsPerStream
  }

  private between([low, high]: readonly [number, number]): number {
    return low + this.random.below(high - low + 1)
  }

  /** Which dispatch of the world stands for a batch of this kind. */
  private numberAlternatives(scenario: Scenario): void {
    const { choices, batches } = this.world.numbered
    for (const input of scenario.workload.choices) {
      const wanted = this.world.numbered.numberOf(batchFrom(input))
      const index = choices.indexOf(wanted)
      if (index >= 0) this.alternatives.set(batchKey(batchFrom(input)), index)
    }
    if (batches.length === 0) fail('PPC202', 'a soak needs batches to choose from')
  }

  private next(step: number): Wish {
    const { iterations } = this.options
    // What was sampled last is adopted pp steps later: so many empty steps drain the run.
    if (step >= iterations + this.world.pp) return { kind: 'end' }
    if (step < iterations) this.submitRequests()
    const scheduled = step < iterations ? this.scheduler.schedule() : this.scheduler.idleStep()
    if (scheduled === undefined) {
      return this.stepsInFlight.length > 0 ? { kind: 'wait' } : { kind: 'end' }
    }
    const isEmpty = scheduled.rows.length === 0
    const samples = scheduled.rows.some((row) => row.sampled)
    const input: BatchInput = {
      frees: scheduled.frees,
      ...(isEmpty
        ? { empty: true }
        : samples
          ? scheduled.proposal
            ? {}
            : { proposal: false }
          : { mask: 'empty' as const }),
    }
    const alternative = this.alternatives.get(batchKey(batchFrom(input)))
    if (alternative === undefined) {
      fail('PPC202', `a soak needs the batch ${JSON.stringify(input)} among its choices`)
    }
    const name = isEmpty
      ? 'empty'
      : samples
        ? scheduled.proposal
          ? 'full'
          : 'no drafts'
        : 'chunks'
    this.batches[name] = (this.batches[name] ?? 0) + 1
    // Only a step with tokens is sampled and leaves something to adopt.
    const slot = isEmpty ? -1 : this.slotTokens.length
    if (!isEmpty) {
      this.slotTokens.push(0)
      this.adoptions.push(0)
    }
    this.stepsInFlight.push({ step: scheduled, slot })
    return { kind: 'dispatch', alternative, tokens: scheduled.tokens }
  }

  private submitRequests(): void {
    while (this.scheduler.open < this.openWanted) {
      const plan = this.plans.shift()
      if (plan === undefined) {
        // The report's requests are served; the stress goes on with more of them.
        this.plans.push(...this.plan())
        continue
      }
      this.scheduler.submit(plan)
      this.openWanted = this.openRequests()
    }
  }

  private retired(): void {
    const before = this.scheduler.counts.sampledTokens
    this.scheduler.retire()
    const slot = this.stepsInFlight.shift()?.slot ?? -1
    const fresh = this.scheduler.counts.sampledTokens - before
    if (slot >= 0) this.slotTokens[slot] = fresh
    this.tokensByRank[this.world.pp - 1] += fresh
    this.gaps.push(this.run.nowUs - this.lastReplyUs)
    this.lastReplyUs = this.run.nowUs
  }

  private adopted(rank: number, slot: number): void {
    this.adoptions[slot]++
    this.tokensByRank[rank] += this.slotTokens[slot]
  }
}
