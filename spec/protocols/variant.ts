// What a built-in variant is: a setting of the field report's switches, with the window that its
// engine uses and what the field saw of it.

import type { Switches } from './field-report.ts'

export interface Variant {
  readonly id: string
  /** One or two sentences: what it changes and where it comes from. */
  readonly summary: string
  /** Rung of the ladder, 0..5; undefined for variants beside it. */
  readonly rung: number | undefined
  readonly switches: Switches
  /** Steps in flight: `pp + 1` as async Model Runner V2 has it, or capped at `pp`. */
  readonly window: 'pp' | 'pp+1'
  /** What eight GPUs showed in the end. */
  readonly field: 'wedge' | 'clean' | undefined
  /** May the speculator skip a proposal? On by default: the report's engine does it. */
  readonly skipsProposals?: boolean
}

/** What all variants of the ladder share: the report's engine. */
export const reportDefaults: Switches = {
  schedule: 'fixed',
  header: 'int64',
  headerCheck: 'host',
  transport: 'nccl',
  receive: 'draft-deferred',
  send: 'offloaded',
  draftExecution: 'full-graph',
  activationMetadata: 'none',
  activationCommunicator: 'pair',
  tokenCommunicator: 'sibling',
}
