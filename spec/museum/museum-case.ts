// What a case of the museum is: a public bug with its mechanism, as programs that break the named
// property before the fix and hold after it. A verdict is never written down here; only what is
// expected of one is, and `ppcheck museum` compares.

import type { PropertyId } from '../properties.ts'
import type { Scenario } from '../scenario.ts'

/** What a mechanism is about: the words by which cases are searched (`ppcheck museum --knob`). */
export const knobs = [
  'skip',
  'mask',
  'width',
  'ops',
  'root',
  'dtype',
  'order',
  'xcomm',
  'window',
  'cadence',
  'gen',
  'slot',
  'hostblk',
  'modload',
  'graph',
  'buf',
  'exc',
  'dead',
  'idle',
  'shut',
  'ctrl',
  'clock',
  'sched',
  'acct',
] as const
export type Knob = (typeof knobs)[number]

/** A public report. */
export interface PublicReport {
  /** `vllm#53402`. */
  readonly id: string
  readonly url: string
}

/** One program of a case in one scenario, and what a search of it must say. */
export interface Exhibit {
  /** Before or after the fix; a control is a program that was never broken, or its mutant. */
  readonly when: 'before' | 'after' | 'control'
  /** What it is, in a few words: `receivers wait on the host`, `one order everywhere`. */
  readonly name: string
  readonly scenario: () => Scenario
  /** The property that it breaks; left out where everything asked for must hold. */
  readonly violates?: PropertyId
  /**
   * What is asked of an exhibit that must hold, if it is less than everything; `because` says why.
   */
  readonly asks?: { readonly properties: readonly PropertyId[]; readonly because: string }
}

export interface MuseumCase {
  /** `vllm-53402`: also the name of its file. */
  readonly id: string
  /** Its place in the corpus of reports: a letter for the family and a number. */
  readonly family: string
  readonly reports: readonly PublicReport[]
  /** The mechanism in a sentence or two, in our own words. */
  readonly mechanism: string
  /** Ranks, engine and transport of the report, in a few words. */
  readonly engine: string
  readonly knobs: readonly Knob[]
  /** What the report does not say and the program assumes; left out where it says enough. */
  readonly inferred?: string
  readonly exhibits: readonly Exhibit[]
}

/** Keeps the type; what a case must have is a law of the tests. */
export const defineCase = (museumCase: MuseumCase): MuseumCase => museumCase

/** The properties that a search of an exhibit is asked for; undefined means all. */
export const propertiesOf = (exhibit: Exhibit): readonly PropertyId[] | undefined =>
  exhibit.violates === undefined ? exhibit.asks?.properties : [exhibit.violates]

/** The scenario of an exhibit, asked for what is expected of it. */
export function exhibitScenario(exhibit: Exhibit): Scenario {
  const scenario = exhibit.scenario()
  const properties = propertiesOf(exhibit)
  return properties === undefined ? scenario : { ...scenario, properties: [...properties] }
}
