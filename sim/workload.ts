// The scheduler of requests, as vLLM's V2 asynchronous one decides: chunked prefill under a token
// budget, a decode row once every pp steps, optimistic counts with placeholders, finish by length
// at an optimistic count, stop, abort and preemption. It says what is in each step's batch; how the
// ranks carry it out is the world's business. Rules: vLLM's scheduler.py and async_scheduler.py.

import { Generator } from './search/random.ts'

/** A request as its client sends it. */
export interface RequestPlan {
  readonly promptTokens: number
  /** It finishes by length when so many tokens have come out. */
  readonly maxTokens: number
  /** It stops by itself after so many tokens; left out: never before `maxTokens`. */
  readonly stopAfter?: number
  /** The client hangs up in the step in which so many tokens have come out. */
  readonly abortAfter?: number
}

/** What limits a batch. */
export interface SchedulerLimits {
  readonly pp: number
  /** `max-num-seqs`: rows of a batch. */
  readonly rows: number
  /** `max-num-batched-tokens` of one step. */
  readonly tokenBudget: number
  /** Draft tokens of a decode row, K. */
  readonly drafts: number
  /** Tokens that fit the cache; beyond them the youngest request is preempted. */
  readonly cacheTokens: number
}

/** One row of a step. */
export interface ScheduledRow {
  readonly request: number
  /** How often the request has been admitted: a preempted one comes back as another. */
  readonly generation: number
  readonly tokens: number
  /** How many of the tokens are drafts of the step before; 0 for a chunk of a prompt. */
  readonly drafts: number
  /** Does the last rank sample for it (a decode, or the last chunk of its prompt)? */
  readonly sampled: boolean
}

/** What the scheduler sends as one step. */
export interface ScheduledStep {
  readonly rows: readonly ScheduledRow[]
  readonly tokens: number
  /** Rows of earlier steps were freed or will be used by other requests. */
  readonly frees: boolean
  /** Is there room for drafts in any sampled row? */
  readonly proposal: boolean
}

export type FinishReason = 'length' | 'stop' | 'abort'

interface Request {
  readonly id: number
  readonly plan: RequestPlan
  generation: number
  /** Tokens sent to the workers, counted as if every draft were accepted. */
  computed: number
  /** Tokens that have come out, and those that are expected of steps in flight. */
  output: number
  placeholders: number
  /** A decode row is not scheduled before this step. */
  nextStep: number
  /** Steps in flight whose output no longer counts (preempted meanwhile). */
  stale: number
  inFlight: number
}

export interface SchedulerCounts {
  prefills: number
  sampledTokens: number
  preemptions: number
  finished: Record<FinishReason, number>
  /** Rows that were scheduled although their request had ended in a step still in flight. */
  zombies: number
  emptySteps: number
}

/**
 * Schedules requests one step after the other; `retire` must be called in the order of the steps.
 * Deterministic: equal plans and seeds, equal batches.
 */
export class RequestScheduler {
  readonly counts: SchedulerCounts = {
    prefills: 0,
    sampledTokens: 0,
    preemptions: 0,
    finished: { length: 0, stop: 0, abort: 0 },
    zombies: 0,
    emptySteps: 0,
  }
  private readonly limits: SchedulerLimits
  private readonly random: Generator
  private readonly waiting: Request[] = []
  private running: Request[] = []
  private readonly inFlight: ScheduledStep[] = []
  private readonly requests: Request[] = []
  private freed = false
  private step = 0

  constructor(limits: SchedulerLimits, seed: number) {
    this.limits = limits
    this.random = new Generator(seed)
  }

  /** Requests that have been submitted and have not ended. */
  get open(): number {
    return this.waiting.length + this.running.length
  }

  submit(plan: RequestPlan): void {
    const request = {
      id: this.requests.length,
      plan,
      generation: 0,
      computed: 0,
      output: 0,
      placeholders: 0,
      nextStep: 0,
      stale: 0,
      inFlight: 0,
    }
    this.requests.push(request)
    this.waiting.push(request)
  }

  /**
   * The next step. Running requests come first, in the order of their admission, then waiting ones.
   * @returns undefined where the engine would not send anything: no request and nothing to tell.
   */
  schedule(): ScheduledStep | undefined {
    if (this.open === 0 && !this.freed) return undefined
    const { limits } = this
    const rows: ScheduledRow[] = []
    let budget = limits.tokenBudget
    this.preemptIfFull()
    for (const request of this.running) {
      if (budget === 0 || rows.length === limits.rows) break
      const row = this.rowOf(request, budget)
      if (row === undefined) continue
      budget -= row.tokens
      rows.push(row)
    }
    while (budget > 0 && rows.length < limits.rows && this.running.length < limits.rows) {
      const request = this.waiting.find(({ stale }) => stale === 0)
      if (request === undefined || !this.fits(request)) break
      this.waiting.splice(this.waiting.indexOf(request), 1)
      this.running.push(request)
      request.generation++
      const row = this.rowOf(request, budget)
      if (row === undefined) break
      budget -= row.tokens
      rows.push(row)
    }
    const sampled = rows.filter((row) => row.sampled)
    const step = {
      rows,
      tokens: limits.tokenBudget - budget,
      frees: this.freed,
      proposal: sampled.some((row) => this.hasRoomForDrafts(this.requests[row.request])),
    }
    if (rows.length === 0) this.counts.emptySteps++
    this.freed = false
    this.inFlight.push(step)
    this.step++
    return step
  }

  /** A step with nothing in it, whatever is waiting. */
  idleStep(): ScheduledStep {
    const step = { rows: [], tokens: 0, frees: false, proposal: false }
    this.inFlight.push(step)
    this.step++
    return step
  }

  /** What the oldest step in flight has brought: accepted drafts, ends, dropped outputs. */
  retire(): void {
    const step = this.inFlight.shift()
    for (const row of step?.rows ?? []) {
      const request = this.requests[row.request]
      request.inFlight--
      if (row.generation !== request.generation || request.stale > 0) {
        request.stale = Math.max(0, request.stale - 1)
        continue
      }
      if (!this.running.includes(request)) {
        this.counts.zombies++
        continue
      }
      if (row.sampled) this.adopt(request, row)
    }
  }

  private adopt(request: Request, { drafts }: ScheduledRow): void {
    const { plan } = request
    const accepted = drafts > 0 ? this.random.below(drafts + 1) : 0
    request.placeholders -= 1 + drafts
    request.computed -= drafts - accepted
    const kept = Math.min(1 + accepted, plan.maxTokens - request.output)
    request.output += kept
    this.counts.sampledTokens += kept
    if (plan.abortAfter !== undefined && request.output >= plan.abortAfter) {
      this.finish(request, 'abort')
    } else if (plan.stopAfter !== undefined && request.output >= plan.stopAfter) {
      this.finish(request, 'stop')
    } else if (request.output >= plan.maxTokens) this.finish(request, 'length')
  }

  private finish(request: Request, reason: FinishReason): void {
    this.running = this.running.filter((other) => other !== request)
    this.counts.finished[reason]++
    this.freed = true
  }

  private rowOf(request: Request, budget: number): ScheduledRow | undefined {
    const { plan, id, generation } = request
    const expected = request.output + request.placeholders
    const left = plan.promptTokens + expected - request.computed
    // One token is left over in every decode: the one that was sampled last.
    if (left > 1 || expected === 0) {
      const tokens = Math.min(left, budget)
      const sampled = tokens === left
      request.computed += tokens
      request.inFlight++
      if (sampled) {
        this.counts.prefills++
        this.expect(request, 1)
      }
      return { request: id, generation, tokens, drafts: 0, sampled }
    }
    if (this.step < request.nextStep) return undefined
    // The optimistic count has reached the end: nothing more is sent until the truth is known.
    const tokens = Math.min(1 + this.limits.drafts, plan.maxTokens - expected, budget)
    if (tokens <= 0) return undefined
    request.computed += tokens
    request.inFlight++
    this.expect(request, tokens)
    return { request: id, generation, tokens, drafts: tokens - 1, sampled: true }
  }

  private expect(request: Request, tokens: number): void {
    request.placeholders += tokens
    request.nextStep = this.step + this.limits.pp
  }

  private hasRoomForDrafts({ plan, output, placeholders }: Request): boolean {
    return plan.maxTokens - output - placeholders > 0
  }

  private used(): number {
    return this.running.reduce((sum, { computed }) => sum + computed, 0)
  }

  private fits({ plan, output }: Request): boolean {
    return this.running.length === 0 || this.used() + plan.promptTokens + output <= this.cache
  }

  private get cache(): number {
    return this.limits.cacheTokens
  }

  /** The youngest gives way; it is not resumed until what it has in flight has come back. */
  private preemptIfFull(): void {
    while (this.used() > this.cache && this.running.length > 1) {
      const request = this.running.pop() as Request
      request.stale = request.inFlight
      request.computed = 0
      request.placeholders = 0
      request.nextStep = 0
      this.waiting.unshift(request)
      this.counts.preemptions++
      this.freed = true
    }
  }
}
