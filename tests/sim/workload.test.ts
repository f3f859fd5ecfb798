// The scheduler of requests keeps vLLM's rules for any traffic.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ScheduledStep, SchedulerLimits } from '../../sim/workload.ts'
import { RequestScheduler } from '../../sim/workload.ts'

const limitsOf = fc.record({
  pp: fc.integer({ min: 2, max: 8 }),
  rows: fc.integer({ min: 1, max: 12 }),
  tokenBudget: fc.integer({ min: 8, max: 256 }),
  drafts: fc.integer({ min: 0, max: 5 }),
  cacheTokens: fc.integer({ min: 300, max: 5_000 }),
})

const plan = fc.record(
  {
    promptTokens: fc.integer({ min: 1, max: 700 }),
    maxTokens: fc.integer({ min: 1, max: 60 }),
    stopAfter: fc.integer({ min: 1, max: 60 }),
    abortAfter: fc.integer({ min: 1, max: 60 }),
  },
  { requiredKeys: ['promptTokens', 'maxTokens'] },
)

/** Runs with a full window until nothing is left; every step, in order. */
function serve(
  limits: SchedulerLimits,
  plans: readonly Parameters<RequestScheduler['submit']>[0][],
  window: number,
): { steps: ScheduledStep[]; scheduler: RequestScheduler } {
  const scheduler = new RequestScheduler(limits, 7)
  for (const each of plans) scheduler.submit(each)
  const steps: ScheduledStep[] = []
  let inFlight = 0
  for (let turn = 0; turn < 100_000; turn++) {
    const step = inFlight < window ? scheduler.schedule() : undefined
    if (step !== undefined) {
      steps.push(step)
      inFlight++
    } else if (inFlight > 0) {
      scheduler.retire()
      inFlight--
    } else return { steps, scheduler }
  }
  throw new Error('the requests are never served')
}

const plans = fc.array(plan, { minLength: 1, maxLength: 8 })
const windows = fc.integer({ min: 0, max: 1 })

describe('for any traffic', () => {
  test('every request ends, and none gets more than it asked for', () => {
    fc.assert(
      fc.property(limitsOf, plans, windows, (limits, list, extra) => {
        const { scheduler } = serve(limits, list, limits.pp + extra)
        const { finished, sampledTokens } = scheduler.counts
        expect(finished.length + finished.stop + finished.abort).toBe(list.length)
        const most = list.reduce((sum, { maxTokens }) => sum + maxTokens, 0)
        expect(sampledTokens).toBeLessThanOrEqual(most)
        const early = list.some(({ stopAfter, abortAfter }) => stopAfter ?? abortAfter)
        if (!early) expect(sampledTokens).toBe(most)
      }),
      { seed: 11, numRuns: 150 },
    )
  })

  test('a step keeps the budget of tokens and of rows', () => {
    fc.assert(
      fc.property(limitsOf, plans, windows, (limits, list, extra) => {
        for (const { rows, tokens } of serve(limits, list, limits.pp + extra).steps) {
          expect(rows.length).toBeLessThanOrEqual(limits.rows)
          expect(tokens).toBeLessThanOrEqual(limits.tokenBudget)
          expect(rows.reduce((sum, row) => sum + row.tokens, 0)).toBe(tokens)
          expect(new Set(rows.map(({ request }) => request)).size).toBe(rows.length)
        }
      }),
      { seed: 12, numRuns: 150 },
    )
  })

  test('a row that is sampled comes again after pp steps at the earliest', () => {
    fc.assert(
      fc.property(limitsOf, plans, windows, (limits, list, extra) => {
        const last = new Map<string, number>()
        serve(limits, list, limits.pp + extra).steps.forEach(({ rows }, step) => {
          for (const { request, generation, sampled } of rows) {
            const key = `${request}/${generation}`
            const before = last.get(key)
            if (before !== undefined) expect(step - before).toBeGreaterThanOrEqual(limits.pp)
            if (sampled) last.set(key, step)
          }
        })
      }),
      { seed: 13, numRuns: 150 },
    )
  })

  test('chunks of one admission add up to the prompt and what had come out', () => {
    fc.assert(
      fc.property(limitsOf, plans, (limits, list) => {
        const chunks = new Map<string, number>()
        const { steps } = serve(limits, list, limits.pp)
        for (const { rows } of steps) {
          for (const { request, generation, tokens, sampled, drafts } of rows) {
            const key = `${request}/${generation}`
            if (chunks.get(key) === -1) continue
            const sum = (chunks.get(key) ?? 0) + tokens
            if (sampled) expect(sum).toBeGreaterThanOrEqual(list[request].promptTokens)
            else expect(drafts).toBe(0)
            chunks.set(key, sampled ? -1 : sum)
          }
        }
      }),
      { seed: 14, numRuns: 150 },
    )
  })
})

test('what a larger window schedules in vain is told: rows of a request that has stopped', () => {
  const limits = { pp: 2, rows: 4, tokenBudget: 64, drafts: 3, cacheTokens: 10_000 }
  const list = [{ promptTokens: 8, maxTokens: 50, stopAfter: 5 }]
  expect(serve(limits, list, 2).scheduler.counts.zombies).toBe(0)
  expect(serve(limits, list, 3).scheduler.counts.zombies).toBeGreaterThan(0)
})

test('a full cache preempts the youngest, which is served all the same', () => {
  const limits = { pp: 2, rows: 4, tokenBudget: 64, drafts: 0, cacheTokens: 100 }
  const list = Array.from({ length: 3 }, () => ({ promptTokens: 30, maxTokens: 40 }))
  const { counts } = serve(limits, list, 2).scheduler
  expect(counts.preemptions).toBeGreaterThan(0)
  expect(counts.finished.length).toBe(3)
  expect(counts.sampledTokens).toBe(120)
})
