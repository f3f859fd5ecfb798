// The design's reference verdicts as scenarios (page 2.7 explains the fields).

import { readFileSync } from 'node:fs'
import { fieldReport, type Switches } from '../../spec/protocols/field-report.ts'
import { defineScenario, type Scenario } from '../../spec/scenario.ts'

export interface Reference {
  readonly pp: number
  readonly W: number
  readonly residentCollectives: number
  readonly transport: 'nccl' | 'gloo'
  readonly drafts: 'fixed' | 'always' | 'gated'
  readonly draftExecution: 'eager' | 'full-graph'
  readonly activationMetadata: 'none' | 'rendezvous'
  readonly launchOrder?: 'free' | 'host-program'
  readonly headerCheck?: 'host'
  readonly receive?: Switches['receive']
  readonly send?: Switches['send']
  readonly maskEmptyAt?: number
  readonly proposalSkippedAt?: number
  readonly steps: number
  readonly verdict: 'ok' | 'deadlock' | 'payload-mismatch'
}

export const references: readonly Reference[] = readFileSync(
  new URL('./reference-verdicts.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Reference)

export function scenarioOf(reference: Reference): Scenario {
  const script = Array.from({ length: reference.steps }, (_, step) =>
    reference.maskEmptyAt === step
      ? { mask: 'empty' as const }
      : reference.proposalSkippedAt === step
        ? { proposal: false }
        : {},
  )
  return defineScenario({
    name: 'reference',
    protocol: fieldReport('reference', 'a line of the reference verdicts', {
      schedule: reference.drafts,
      header: reference.drafts === 'fixed' ? 'int64' : 'none',
      headerCheck: reference.headerCheck ?? 'consume',
      transport: reference.transport,
      receive: reference.receive ?? 'deferred',
      send: reference.send ?? 'host',
      draftExecution: reference.draftExecution,
      activationMetadata: reference.activationMetadata,
      activationCommunicator: 'pair',
      tokenCommunicator: 'sibling',
    }),
    topology: { pp: reference.pp, window: reference.W },
    device: {
      residentCollectives: reference.residentCollectives,
      launchOrder: reference.launchOrder ?? 'free',
    },
    workload: { steps: reference.steps, script },
  })
}
