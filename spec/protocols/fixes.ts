// The field report's five fixes, and the sixth that was not tried, as switches that can be applied
// in any combination. The ladder is one path through this lattice.

import type { PropertyId } from '../properties.ts'
import type { Scenario } from '../scenario.ts'
import { type FieldOverrides, fieldScenario, type Switches } from './index.ts'

/** The fixes, in the order in which the report applied them; the last is from outside it. */
export const reportFixes = [
  { id: 'fixed-schedule', summary: 'every step posts the same payloads, with sentinels' },
  { id: 'header64', summary: 'an int64 header, checked on the host before the rest is posted' },
  { id: 'cap', summary: 'at most pp steps in flight' },
  { id: 'gloo-tokens', summary: 'tokens on the CPU transport, drafts received late' },
  { id: 'eager-draft', summary: 'the draft proposal is not one full graph' },
  { id: 'launch-order', summary: 'collectives start in launch order across communicators' },
] as const

export type ReportFix = (typeof reportFixes)[number]['id']

/** What decides: everything that freezes or corrupts, and a header that cannot be written. */
const decisive: readonly PropertyId[] = ['P1', 'P2', 'P3', 'P6', 'P7', 'P10', 'P11', 'P12']

/** The report's engine with exactly these fixes. Overrides apply to all combinations alike. */
export function scenarioWithFixes(
  applied: ReadonlySet<string>,
  overrides: FieldOverrides = {},
): Scenario {
  const has = (fix: ReportFix): boolean => applied.has(fix)
  const pp = overrides.pp ?? 8
  const switches: Partial<Switches> = {
    schedule: has('fixed-schedule') ? 'fixed' : 'always',
    // The first fixed schedule came with an int32 header; without either there was none.
    header: has('header64') ? 'int64' : has('fixed-schedule') ? 'int32' : 'none',
    headerCheck: 'host',
    transport: has('gloo-tokens') ? 'gloo' : 'nccl',
    draftExecution: has('eager-draft') ? 'eager' : 'full-graph',
  }
  return fieldScenario('upstream-fork', {
    ...overrides,
    pp,
    window: overrides.window ?? (has('cap') ? pp : pp + 1),
    switches: { ...switches, ...overrides.switches },
    device: {
      ...overrides.device,
      ...(has('launch-order') ? { launchOrder: 'host-program' as const } : {}),
    },
    properties: overrides.properties ?? [...decisive],
  })
}
