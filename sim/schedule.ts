// A schedule as a short string: which choice was taken at every state that offered more than one
// way to go on. Everything else is determined, so the string replays the run exactly.

import { fail } from '../spec/error.ts'
import type { Scenario } from '../spec/scenario.ts'
import type { Reduction } from './search/expander.ts'

/** Grows when the meaning of a choice index changes; older strings are then refused. */
export const scheduleVersion = 1

export interface Schedule {
  readonly reduction: Reduction
  /** Index into the choices of the state, at each branching state in turn. */
  readonly choices: readonly number[]
}

const prefix = `pp${scheduleVersion}`

/**
 * Encodes a schedule: `pp1:<scenario hash>:<reduction>:<choices>`; runs are written `0*12`.
 * The hash makes a string of another scenario an error and not a strange replay.
 */
export function encodeSchedule(scenario: Scenario, schedule: Schedule): string {
  const { choices } = schedule
  const words: string[] = []
  for (let i = 0; i < choices.length; ) {
    let end = i
    while (end < choices.length && choices[end] === choices[i]) end++
    const text = choices[i].toString(36)
    words.push(end - i > 1 ? `${text}*${(end - i).toString(36)}` : text)
    i = end
  }
  const reduction = schedule.reduction === 'none' ? 'n' : 's'
  return `${prefix}:${scenarioHash(scenario)}:${reduction}:${words.join('.')}`
}

/**
 * Decodes a schedule string for a scenario.
 * @throws PpcheckError PPC301 if it does not parse, PPC304 if it belongs to another scenario or
 *   another version of the format.
 */
export function decodeSchedule(scenario: Scenario, text: string): Schedule {
  const parts = text.trim().split(':')
  if (parts.length !== 4 || !/^pp\d+$/.test(parts[0])) {
    fail(
      'PPC301',
      `not a schedule: ${JSON.stringify(shorten(text))}`,
      'it looks like pp1:HASH:s:0.1',
    )
  }
  if (parts[0] !== prefix) {
    fail('PPC304', `the schedule has format ${parts[0]}, this version reads ${prefix}`)
  }
  const hash = scenarioHash(scenario)
  if (parts[1] !== hash) {
    fail(
      'PPC304',
      `the schedule belongs to scenario ${parts[1]}, this one is ${hash}`,
      'give the options that the replay line printed',
    )
  }
  if (parts[2] !== 's' && parts[2] !== 'n') {
    fail('PPC301', `unknown reduction ${JSON.stringify(parts[2])} in the schedule`)
  }
  const choices: number[] = []
  for (const word of parts[3] === '' ? [] : parts[3].split('.')) {
    const match = /^([0-9a-z]{1,4})(?:\*([0-9a-z]{1,5}))?$/.exec(word)
    if (match === null) fail('PPC301', `not a choice: ${JSON.stringify(word)} in the schedule`)
    const times = match[2] === undefined ? 1 : Number.parseInt(match[2], 36)
    if (choices.length + times > 5_000_000) fail('PPC301', 'the schedule is too long')
    for (let i = 0; i < times; i++) choices.push(Number.parseInt(match[1], 36))
  }
  return { reduction: parts[2] === 'n' ? 'none' : 'stubborn', choices }
}

/** Eight hexadecimal digits that name a scenario: everything that its behaviour depends on. */
export function scenarioHash(scenario: Scenario): string {
  const { protocol, topology, device, workload, faults, faultsMax, engineWindow } = scenario
  const roles = [protocol.roles.first, protocol.roles.others, protocol.roles.last]
  const parts = [roles, protocol.communicators, topology, device, workload, faults, faultsMax]
  return fnv1a(canonicalJson([...parts, engineWindow ?? 0]))
}

/** JSON with sorted keys: equal data, equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const members = entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`)
  return `{${members.join(',')}}`
}

/** FNV-1a, 32 bit: a name for people to compare, not a protection against an adversary. */
export function fnv1a(text: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return (hash >>> 0).toString(16).padStart(8, '0')
}

const shorten = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)
