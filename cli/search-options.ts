// What the options of the command line mean to a search and to the threads that it runs on: the
// same for every command that searches.

import type { OptionValues } from './options.ts'
import type { PlainCheckOptions, PoolOptions } from './pool.ts'

/** The seed in the 32 bits that generators take; 1 if none was given. */
export const seedOf = ({ seed }: OptionValues): number => Number((seed ?? 1n) & 0xffffffffn)

/**
 * Strategy and budgets of a search.
 * @param statesMax states to stop at where none are given; undefined: the checker's own.
 */
export function searchOptions(options: OptionValues, statesMax?: number): PlainCheckOptions {
  const states = options.maxStates ?? statesMax
  return {
    reduction: options.reduction,
    seed: seedOf(options),
    ...(options.continue ? { continue: true } : {}),
    ...(states === undefined ? {} : { statesMax: states }),
    ...(options.memory === undefined ? {} : { memoryBytes: options.memory }),
  }
}

/** How many threads, and what ends them early. */
export const poolOptions = (
  { workers, timeLimitMs }: OptionValues,
  signal: AbortSignal,
): PoolOptions => ({
  workers: workers ?? 'auto',
  signal,
  ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
})
