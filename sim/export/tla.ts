// Prints a bounded model as a TLA+ module, for TLC (which has a distributed mode) and Apalache.

import type { Scenario } from '../../spec/scenario.ts'
import type { Condition, Effect, Line } from './bounded-model.ts'
import { boundedModel } from './bounded-model.ts'
import { identifier } from './unroll.ts'

const signs = { '>': '>', '>=': '>=', '<': '<', '==': '=' } as const

const conditionText = ({ counter, is, value }: Condition): string =>
  `${counter} ${signs[is]} ${value}`

const effectText = ({ counter, by }: Effect): string =>
  `${counter}' = ${counter} ${by > 0 ? '+' : '-'} 1`

/** TLA+ comments nest, so neither bracket may be in one. */
const commentOf = (text: string): string => text.replaceAll('(*', '').replaceAll('*)', '')

const wrapped = (words: readonly string[], indent: string): string => {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length > 88) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line) => indent + line).join('\n')
}

/** Each name but the last with a comma behind it. */
const listed = (names: readonly string[]): string[] =>
  names.map((name, i) => (i + 1 < names.length ? `${name},` : name))

/** TLC reads this from a file of its own; behind the end of the module nothing is read. */
const config = ['SPECIFICATION Spec', 'INVARIANTS TypeOK Agreement', 'CHECK_DEADLOCK TRUE']

/**
 * The scenario as a TLA+ module, with the configuration for TLC behind its end. A deadlock or a
 * post that nobody matches (P1, P10) is a deadlock of TLC; operations that differ at the same
 * position (P2) break the invariant `Agreement`. The comments before the variables are their types
 * for Apalache.
 * @throws PpcheckError PPC206 for what is not exported.
 */
export function toTla(scenario: Scenario): string {
  const { counters, largest, processes } = boundedModel(scenario)
  const { topology, device, workload } = scenario
  const moduleName = `ppcheck_${identifier(scenario.name)}`
  const places = processes.map(({ name }) => `at_${name}`)
  const variables = [...counters.flatMap(({ names }) => names), ...places, 'agreed']

  const action = (line: Line, process: number, index: number): string => {
    const at = places[process]
    const changed = new Set([at, ...line.effects.map(({ counter }) => counter)])
    if (line.outcome === 'disagrees') changed.add('agreed')
    const kept = variables.filter((name) => !changed.has(name))
    return [
      `${processes[process].name}_${index} == (* ${commentOf(line.text)} *)`,
      `  /\\ ${at} = ${index}`,
      ...[...new Set(line.needs.map(conditionText))].map((need) => `  /\\ ${need}`),
      ...line.effects.map((effect) => `  /\\ ${effectText(effect)}`),
      `  /\\ ${at}' = ${index + 1}`,
      ...(line.outcome === 'disagrees' ? ["  /\\ agreed' = FALSE"] : []),
      '  /\\ UNCHANGED <<',
      `${wrapped(listed(kept), '       ')} >>`,
    ].join('\n')
  }

  const actions = processes.flatMap(({ name, lines }, process) =>
    lines.flatMap((line, index) =>
      line.outcome === 'never'
        ? []
        : [{ name: `${name}_${index}`, text: action(line, process, index) }],
    ),
  )
  const about = new Map(counters.map(({ names, about: text }) => [names[0], text]))
  const declarations = variables.flatMap((name, index) => [
    ...(about.has(name) ? [`  \\* ${about.get(name)}:`] : []),
    `  \\* @type: ${name === 'agreed' ? 'Bool' : 'Int'};`,
    `  ${name}${index + 1 < variables.length ? ',' : ''}`,
  ])
  return [
    `---- MODULE ${moduleName} ----`,
    `(* pp ${topology.pp}, window ${topology.window}, ${workload.steps} steps, ` +
      `${device.residentCollectives} resident collectives, launch order ${device.launchOrder}.`,
    `   Written by ppcheck export --format tla, to be saved as ${moduleName}.tla. Every action is`,
    '   one transition. A deadlock (P1, P10) is a deadlock of TLC, a mismatch (P2) breaks the',
    '   invariant Agreement; the other properties of ppcheck are not in here. *)',
    'EXTENDS Integers',
    '',
    'VARIABLES',
    ...declarations,
    '',
    'vars == <<',
    `${wrapped(listed(variables), '  ')} >>`,
    '',
    'Init ==',
    ...variables.map((name) => `  /\\ ${name} = ${name === 'agreed' ? 'TRUE' : 0}`),
    '',
    ...actions.flatMap(({ text }) => [text, '']),
    '\\* Every process has ended: the one state that need not be left.',
    'Done ==',
    ...processes.map(({ lines }, process) => `  /\\ ${places[process]} = ${lines.length}`),
    '',
    'Next ==',
    ...actions.map(({ name }) => `  \\/ ${name}`),
    '  \\/ Done /\\ UNCHANGED vars',
    '',
    'Spec == Init /\\ [][Next]_vars',
    'Agreement == agreed',
    'TypeOK ==',
    ...variables.map((name) =>
      name === 'agreed' ? '  /\\ agreed \\in BOOLEAN' : `  /\\ ${name} \\in 0..${largest}`,
    ),
    '====',
    `To be saved as ${moduleName}.cfg:`,
    ...config,
    '',
  ].join('\n')
}
