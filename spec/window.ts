// How many steps the engine keeps in flight: the engine's `max_concurrent_batches` with the cap of
// the field report. Must stay a table that can be read against the report, case by case.

import { fail } from './error.ts'

export interface WindowSettings {
  /** Pipeline size. */
  readonly pp: number
  readonly asyncScheduling: boolean
  /** Model runner generation. */
  readonly runner: 'v1' | 'v2'
  /** Is the cap of rung `capped` switched on? */
  readonly capEnabled: boolean
  /** Speculative decoding method, for example `dspark`. */
  readonly method: string
}

/**
 * The window W. The extra batch of asynchronous scheduling on the V2 runner (pp + 1) is hazard H2;
 * the cap takes it back, but only for pipelines that speculate with `dspark`: every other
 * combination keeps its base value.
 * Throws PPC101 unless pp is an integer of at least 1.
 */
export const maxConcurrentBatches = (settings: WindowSettings): number => {
  const { pp, capEnabled, method } = settings
  if (!Number.isSafeInteger(pp) || pp < 1) {
    fail('PPC101', `pp must be an integer ≥ 1, got ${pp}`)
  }
  const base = baseWindow(settings)
  const capped = capEnabled && pp > 1 && method === 'dspark' && base === pp + 1
  return capped ? pp : base
}

const baseWindow = ({ pp, asyncScheduling, runner }: WindowSettings): number => {
  if (!asyncScheduling) return pp
  if (pp === 1) return 2
  return runner === 'v2' ? pp + 1 : pp
}
