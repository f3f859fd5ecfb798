// The batches of a scenario, numbered. Facts that no program can see are projected out, so that an
// environment that may choose among masks costs nothing where no operation depends on them.

import type { Batch } from '../spec/batch.ts'
import { batchFrom, batchKey, fullBatch } from '../spec/batch.ts'
import { fail } from '../spec/error.ts'
import { collidingMask } from '../spec/mask-collisions.ts'
import type { Fact } from '../spec/operation.ts'
import { operationsOf } from '../spec/rank-machine.ts'
import { programOf } from '../spec/resolve-program.ts'
import type { Fault, FaultKind, Scenario } from '../spec/scenario.ts'

/** Faults that strike when a step is dispatched: a rank is handed another batch, or none. */
const dispatchKinds: readonly FaultKind[] = [
  'own-mask',
  'own-mask-collision',
  'own-batch',
  'own-num-reqs',
  'own-rows',
  'lost-rpc',
  'request-reused',
]

export const strikesAtDispatch = (fault: Fault): boolean => dispatchKinds.includes(fault.kind)

/** Does the fault make ranks disagree (so that a check should report it)? */
export const isDivergence = (fault: Fault): boolean =>
  [
    'own-mask',
    'own-mask-collision',
    'own-batch',
    'own-num-reqs',
    'own-rows',
    'lost-rpc',
    'throw',
    'duplicate-post',
  ].includes(fault.kind)

export interface NumberedBatches {
  readonly batches: readonly Batch[]
  /** Batch numbers of the scripted first steps. */
  readonly script: readonly number[]
  /** Batch numbers among which the environment chooses for any other step. */
  readonly choices: readonly number[]
  /** The number of a batch, as far as programs can see it; −1 if it is none of the scenario's. */
  readonly numberOf: (batch: Batch) => number
  /** The number of a batch as a faulty rank sees it; −1 for none. */
  readonly faulty: (fault: Fault, batch: number) => number
}

export function numberBatches(scenario: Scenario): NumberedBatches {
  const batches: Batch[] = []
  const numbers = new Map<string, number>()
  const number = (batch: Batch): number => {
    const key = batchKey(batch)
    const known = numbers.get(key)
    if (known !== undefined) return known
    if (batches.length >= 127) fail('PPC205', 'a scenario may have at most 127 different batches')
    batches.push(batch)
    numbers.set(key, batches.length - 1)
    return batches.length - 1
  }
  const project = visibleProjection(scenario)
  const unique = (list: readonly number[]): number[] => [...new Set(list)]
  const script = scenario.workload.script.map((input) => number(project(batchFrom(input))))
  const choices = unique(scenario.workload.choices.map((c) => number(project(batchFrom(c)))))
  const table = new Map<string, number>()
  for (const fault of scenario.faults.filter(strikesAtDispatch)) {
    if (fault.kind === 'lost-rpc') continue
    for (const index of unique([...script, ...choices])) {
      if (fault.kind === 'own-mask-collision' && !canCollide(batches[index])) continue
      const wrong = diverged(fault, batches[index])
      // A batch that was written out still has what no program sees.
      table.set(faultKey(fault, index), number(fault.batch === undefined ? wrong : project(wrong)))
    }
  }
  return {
    batches,
    script,
    choices,
    numberOf: (batch) => numbers.get(batchKey(project(batch))) ?? -1,
    faulty: (fault, batch) => table.get(faultKey(fault, batch)) ?? -1,
  }
}

/** Two masks of equal length have equal CRC-32 only beyond 32 rows (`collidingMask`). */
const canCollide = ({ mask }: Batch): boolean => mask.length > 32

const faultKey = ({ kind, batch }: Fault, index: number): string =>
  `${kind}/${batch === undefined ? '' : batchKey(batchFrom(batch))}/${index}`

function diverged(fault: Fault, batch: Batch): Batch {
  switch (fault.kind) {
    case 'own-mask': {
      // The first row's bit flips: a mask of one row becomes empty, or full.
      const mask = batch.mask.map((bit, row) => (row === 0 ? !bit : bit))
      return { ...batch, mask }
    }
    case 'own-mask-collision':
      return { ...batch, mask: collidingMask(batch.mask) }
    case 'own-batch':
      return batchFrom(fault.batch ?? {})
    case 'own-num-reqs':
      return { ...batch, ...fullBatch(batch.requests + 1), mask: [...batch.mask, false] }
    case 'own-rows':
      return { ...batch, rows: `${batch.rows}'` }
    case 'request-reused':
      return { ...batch, frees: true }
    default:
      return batch
  }
}

/**
 * A batch with everything that no rank's program can see set to its default. Masks, rows and
 * proposals then cost states only where an operation is guarded by them; contents still count as
 * soon as a fault can make ranks disagree, or a header must represent them.
 */
function visibleProjection(scenario: Scenario): (batch: Batch) => Batch {
  const { protocol, topology } = scenario
  const forms = Array.from({ length: topology.pp }, (_, rank) =>
    operationsOf(programOf(protocol, rank, topology.pp)),
  ).flat()
  const facts = new Set<Fact>(forms.flatMap((form) => form.when ?? []))
  const guarded = (...names: Fact[]): boolean => names.some((name) => facts.has(name))
  const asksP11 = scenario.properties?.includes('P11') ?? true
  const narrowHeader =
    asksP11 &&
    forms.some(
      (form) => form.do === 'broadcast' && form.header !== undefined && form.dtype === 'int32',
    )
  const diverges = scenario.faults.some(isDivergence)
  const keepMask = guarded('mask', 'no-mask') || narrowHeader || diverges
  const keepsCounts = forms.some((form) => form.do === 'consume' && !form.adopts.includes('counts'))
  const loads = forms.some((form) => form.do === 'launch' && form.loadsModule === true)
  return (batch) => ({
    ...batch,
    mask: keepMask ? batch.mask : fullBatch(batch.requests).mask,
    rows: diverges ? batch.rows : 'a',
    proposal: guarded('proposal', 'no-proposal') ? batch.proposal : true,
    rejected: keepsCounts ? batch.rejected : 0,
    frees: forms.some((form) => form.do === 'free-rows') ? batch.frees : false,
    firstUse: guarded('first-use', 'not-first-use') || loads ? batch.firstUse : false,
  })
}
