// Random wedges of the simulator with what truly went wrong in them, told from the run itself and
// not by the rules that are under test.

import type { Evidence } from '../../sim/diagnosis/evidence.ts'
import { noEvidence } from '../../sim/diagnosis/evidence.ts'
import { mergePickle } from '../../sim/diagnosis/merge-dump.ts'
import { readPickle } from '../../sim/diagnosis/pickle.ts'
import { flightRecorderDump } from '../../sim/export/flight-recorder.ts'
import type { RecordedRun, RecordedTransfer } from '../../sim/export/transfers.ts'
import { recordRun } from '../../sim/export/transfers.ts'
import { Expander } from '../../sim/search/expander.ts'
import { Generator } from '../../sim/search/random.ts'
import { Stepper } from '../../sim/search/stepper.ts'
import { World } from '../../sim/world.ts'
import { fieldScenario, variantNames } from '../../spec/index.ts'
import type { FaultKind, Scenario } from '../../spec/scenario.ts'

export interface Wedge {
  readonly seed: number
  readonly scenario: Scenario
  readonly run: RecordedRun
  /** The fault that struck, if one did. */
  readonly fault: { readonly kind: FaultKind; readonly rank: number } | undefined
}

const faultKinds: readonly (FaultKind | undefined)[] = [
  undefined,
  undefined,
  'stall',
  'die',
  'own-mask',
  'throw',
  'lost-rpc',
  'draft-stall',
]

/** A wedge from a seed, or undefined where the random run ends well. */
export function wedgeOf(seed: number): Wedge | undefined {
  const chance = new Generator(seed)
  const pick = <T>(all: readonly T[]): T => all[chance.below(all.length)]
  const pp = 2 + chance.below(5)
  const kind = pick(faultKinds)
  const rank = kind === 'draft-stall' ? pp - 1 : chance.below(pp)
  const base = fieldScenario(pick(variantNames), {
    pp,
    device: { residentCollectives: 1 + chance.below(3) },
    workload: { steps: 6 + chance.below(6), choices: [{}, {}, {}, { mask: 'empty' }] },
    ...(chance.below(2) === 0 ? { switches: { draftExecution: 'eager' as const } } : {}),
  })
  const faults = kind === undefined ? [] : [{ kind, rank, step: 'any' as const }]
  const scenario: Scenario = { ...base, faults, properties: ['P1'] }
  const stepper = new Stepper(new Expander(new World(scenario), 'stubborn'), ['P1'])
  const found = stepper.follow((_taken, total) => chance.below(total), 5000)
  if (found === undefined) return undefined
  const run = recordRun(scenario, { reduction: 'stubborn', choices: found.choices })
  const struck = run.trace.events.some(({ text }) => /^fault |own|lost|throws/.test(text))
  return { seed, scenario, run, fault: kind && struck ? { kind, rank } : undefined }
}

/** Positions of a channel on each member, in the order of their posting. */
const postedOn = ({ ranks }: RecordedRun, rank: number, channel: number): RecordedTransfer[] =>
  ranks[rank].filter((transfer) => transfer.channel.index === channel)

export interface Place {
  readonly communicator: string
  readonly sequence: number
  /** Members that have not posted it. */
  readonly behind: readonly number[]
}

/**
 * The first place of a group communicator at which members differ: in what they posted, or in how
 * far they are. Told from the whole run; undefined where no group operation is outstanding.
 */
export function firstDivergence({ run }: Wedge): Place | undefined {
  for (const { index, members, pair } of run.trace.world.channels) {
    if (pair) continue
    const lists = members.map((rank) => postedOn(run, rank, index))
    const longest = Math.max(...lists.map(({ length }) => length))
    for (let at = 0; at < longest; at++) {
      const states: string[] = lists.map((list) => list[at]?.state ?? 'absent')
      const forms = lists.flatMap((list) => {
        const posted = list[at]
        return posted ? [`${posted.form.do}/${posted.form.dtype}/${posted.shape}`] : []
      })
      const same = new Set(forms).size === 1
      if (same && states.every((state) => state === 'completed')) continue
      const behind = members.filter((_, i) => states[i] === 'absent')
      return { communicator: String(index), sequence: at + 1, behind }
    }
  }
  return undefined
}

/** What happened to the dumps. */
export type Loss =
  | { readonly kind: 'none' }
  | { readonly kind: 'removed' | 'truncated'; readonly rank: number; readonly share: number }
  | { readonly kind: 'ring' }

/** The evidence that the dumps of a wedge give after a loss. */
export function evidenceAfter({ run, scenario }: Wedge, loss: Loss): Evidence {
  const evidence = noEvidence()
  for (let rank = 0; rank < scenario.topology.pp; rank++) {
    if (loss.kind === 'removed' && loss.rank === rank) continue
    const bytes = flightRecorderDump(run, rank, loss.kind === 'ring' ? { ring: 8 } : {})
    const cut = loss.kind === 'truncated' && loss.rank === rank
    const kept = cut ? bytes.subarray(0, bytes.length * loss.share) : bytes
    mergePickle(evidence, readPickle(kept), rank, `rank_${rank}`)
  }
  return evidence
}
