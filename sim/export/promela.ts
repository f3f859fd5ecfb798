// Prints a bounded model as Promela, for SPIN and its swarm.

import type { Scenario } from '../../spec/scenario.ts'
import type { Condition, Effect, Line, Process } from './bounded-model.ts'
import { boundedModel } from './bounded-model.ts'
import { identifier } from './unroll.ts'

const conditionText = ({ counter, is, value }: Condition): string => `${counter} ${is} ${value}`
const effectText = ({ counter, by }: Effect): string => `${counter}${by > 0 ? '++' : '--'}`

function lineText({ needs, effects, text, outcome }: Line): string {
  const comment = `/* ${text.replaceAll('*/', '')} */`
  if (outcome === 'never') return `  false ${comment}`
  const guard = [...new Set(needs.map(conditionText))].join(' && ') || 'true'
  const checks = outcome === 'disagrees' ? ['assert(false)'] : []
  return `  d_step { ${guard} -> ${[...checks, ...effects.map(effectText)].join('; ')} } ${comment}`
}

const proctype = ({ name, lines }: Process): string =>
  // The label makes the last state a valid end: not a deadlock.
  [`active proctype ${name}() {`, ...lines.map(lineText), 'end: false', '}'].join('\n')

/**
 * The scenario as a Promela model. A deadlock or a post that nobody matches (P1, P10) is an invalid
 * end state, operations that differ at the same position (P2) violate an assertion.
 * @throws PpcheckError PPC206 for what is not exported.
 */
export function toPromela(scenario: Scenario): string {
  const { counters, largest, processes } = boundedModel(scenario)
  const { topology, device, workload, protocol } = scenario
  const type = largest < 255 ? 'byte' : 'short'
  return [
    `/* ${identifier(scenario.name)}, protocol ${identifier(protocol.name)}: pp ${topology.pp},`,
    `   window ${topology.window}, ${workload.steps} steps, ${device.residentCollectives} resident`,
    `   collectives, launch order ${device.launchOrder}.`,
    '   Written by ppcheck export --format promela. Every line that moves is one transition. A',
    '   deadlock (P1, P10) is an invalid end state, a mismatch (P2) an assertion that fails; the',
    '   other properties of ppcheck are not in here. */',
    '',
    ...counters.map(({ names, about }) => `${type} ${names.join(', ')} /* ${about} */`),
    '',
    ...processes.map(proctype),
    '',
  ].join('\n')
}
