// The simulator and the model checker: what `ppcheck/sim` exports.

export { type Ablation, defineAblation, type Fix } from './ablation.ts'
export type { Explanation, Wait } from './explain.ts'
export { explain } from './explain.ts'
export type { Finding, RankState } from './rank-model.ts'
export type { Trace, TraceEvent } from './replay.ts'
export { replay } from './replay.ts'
export type { Schedule } from './schedule.ts'
export { decodeSchedule, encodeSchedule, scenarioHash } from './schedule.ts'
export type {
  CheckOptions,
  CheckProgress,
  Counterexample,
  Scope,
  StopReason,
  Verdict,
} from './search/check.ts'
export { check } from './search/check.ts'
export type { Reduction } from './search/expander.ts'
export type { MachineTable } from './tables.ts'
export { internMachine } from './tables.ts'
export { World } from './world.ts'
