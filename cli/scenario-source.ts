// From the command line to scenarios: a built-in variant with its switches, or a user's protocol
// file with what the command line overrides. Also the way back: the options that name a scenario.

import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail, PpcheckError } from '../spec/error.ts'
import { defineProtocol } from '../spec/program.ts'
import { type PropertyId, properties, propertyIds } from '../spec/properties.ts'
import type { FieldOverrides } from '../spec/protocols/index.ts'
import { batchChoices, fieldScenario, variantNames, variants } from '../spec/protocols/index.ts'
import {
  type BatchInput,
  defineScenario,
  faultKinds,
  type Scenario,
  type ScenarioInput,
} from '../spec/scenario.ts'
import { withDeviceProfile } from './measured-device.ts'
import { flagName, type OptionName, type OptionValues, optionTable } from './options.ts'
import { failUnknown } from './suggest.ts'

export interface NamedScenario {
  readonly scenario: Scenario
  /** The words that name it on a command line, quoted where needed. */
  readonly words: readonly string[]
}

type FaultInput = NonNullable<ScenarioInput['faults']>[number]

/** Switches that only the built-in program has; a file of one's own decides them itself. */
const switchNames = [
  'transport',
  'headerCheck',
  'receive',
  'send',
  'draft',
  'metadata',
  'activationCommunicator',
  'tokenCommunicator',
] as const satisfies readonly OptionName[]

/** Options that a printed command line must repeat, so that it means the same scenario. */
const scenarioOptions: readonly OptionName[] = [
  ...switchNames,
  'pp',
  'window',
  'resident',
  'launchOrder',
  'hardwareQueues',
  'eager',
  'moduleLoading',
  'steps',
  'requests',
  'draftsPerStep',
]

/** Those of the options that say which scenario is meant, as flags: a trace needs none of them. */
export const scenarioFlags = (options: OptionValues): string[] =>
  (['variant', ...scenarioOptions, 'faults', 'property'] as const)
    .filter((key) => options[key] !== undefined)
    .map((key) => flagName(optionTable[key]))

const stepsExploredMax = 200

/** All scenarios that the arguments and options name. */
export async function scenariosFrom(
  args: readonly string[],
  given: OptionValues,
): Promise<NamedScenario[]> {
  checkSteps(given)
  const options = withDeviceProfile(given, args.length === 0 || variantNames.includes(args[0]))
  if (args.length === 0) return [fromVariant(options)]
  if (options.variant !== undefined) {
    fail('PPC107', `a scenario file and a variant are both given (--variant)`)
  }
  const found: NamedScenario[] = []
  for (const argument of args) found.push(...(await fromArgument(argument, options)))
  return found
}

/** `museum:vllm-53402.2`: the second exhibit of a case; `museum:vllm-53402` all of them. */
async function fromMuseum(argument: string, options: OptionValues): Promise<NamedScenario[]> {
  const { museum } = await import('../spec/museum/index.ts')
  const [, id, digits] = /^museum:(.*?)(?:\.(\d+))?$/.exec(argument) ?? []
  const found = museum.find((each) => each.id === id)
  const ids = museum.map((each) => each.id)
  if (found === undefined) failUnknown('museum case', id ?? '', ids, { code: 'PPC135' })
  for (const key of switchNames) {
    if (options[key] === undefined) continue
    const flag = flagName(optionTable[key])
    fail('PPC107', `${flag} is a switch of the built-in variants; a museum case decides it itself`)
  }
  const chosen = digits === undefined ? undefined : Number(digits)
  const { exhibits } = found
  if (chosen !== undefined && exhibits[chosen - 1] === undefined) {
    fail('PPC135', `${id} has exhibits 1 to ${exhibits.length}, not ${chosen}`)
  }
  return exhibits.flatMap((exhibit, index) => {
    if (chosen !== undefined && index !== chosen - 1) return []
    const address = `museum:${id}.${index + 1}`
    const scenario = overridden(exhibit.scenario(), options)
    return [{ scenario, words: [quoted(address), ...wordsOf(options)] }]
  })
}

async function fromArgument(argument: string, options: OptionValues): Promise<NamedScenario[]> {
  // A bare word that is a variant's name means the variant.
  if (variantNames.includes(argument)) return [fromVariant({ ...options, variant: argument })]
  if (argument.startsWith('museum:')) return fromMuseum(argument, options)
  const [file, selector] = argument.split('#')
  if (!existsSync(file)) {
    if (/[./]/.test(file)) fail('PPC109', `cannot read ${file}: there is no such file`)
    failUnknown('scenario or variant', file, variantNames)
  }
  if (statSync(file).isDirectory()) fail('PPC109', `cannot read ${file}: it is a folder`)
  for (const key of switchNames) {
    if (options[key] === undefined) continue
    const flag = flagName(optionTable[key])
    fail('PPC107', `${flag} is a switch of the built-in variants; ${file} decides it itself`)
  }
  return chosenFrom(await loadFile(file), file, selector).map(([value, address]) => ({
    scenario: overridden(checked(file, value), options),
    words: [quoted(address), ...wordsOf(options)],
  }))
}

/**
 * What `#name`, `#2` (second of the default export's list) or `#name.2` chooses of a file's
 * exports, each with the argument that chooses it alone: a replay needs exactly one.
 */
function chosenFrom(
  exported: Readonly<Record<string, unknown>>,
  file: string,
  selector: string | undefined,
): (readonly [value: unknown, address: string])[] {
  if (selector === '') fail('PPC111', `${file}# names no export`)
  // An export of exactly this name wins: names may end in digits.
  const isExact = selector !== undefined && Object.hasOwn(exported, selector)
  const [, name = '', digits] = isExact
    ? ['', selector]
    : (/^(.*?)\.?(\d+)?$/.exec(selector ?? '') ?? [])
  const chosen = name === '' ? exported['default'] : exported[name]
  if (chosen === undefined) {
    const names = Object.keys(exported).join(', ') || 'nothing'
    const what = name === '' ? 'no default export' : `no export ${name}`
    fail('PPC111', `${file} has ${what}`, `it exports ${names}; choose one with ${file}#name`)
  }
  const address = (number: number): string =>
    name === '' ? `${file}#${number}` : `${file}#${name}.${number}`
  if (!Array.isArray(chosen)) {
    if (digits !== undefined) fail('PPC111', `${file}#${selector}: the export is not a list`)
    return [[chosen, name === '' ? file : `${file}#${name}`]]
  }
  const all = chosen.map((value: unknown, index) => [value, address(index + 1)] as const)
  if (all.length === 0) fail('PPC111', `${file} exports an empty list`)
  if (digits === undefined) return all
  const one = all[Number(digits) - 1]
  if (one === undefined) fail('PPC111', `${file}#${selector}: the list has ${all.length} entries`)
  return [one]
}

/**
 * What a TypeScript or JavaScript file exports. In it, `ppcheck` is this package, wherever it lies.
 * @throws PpcheckError PPC109 if there is none, PPC111 if it does not load.
 */
export async function loadFile(file: string): Promise<Record<string, unknown>> {
  if (!existsSync(file)) fail('PPC109', `cannot read ${file}: there is no such file`)
  const { createJiti } = await import('jiti')
  const here = fileURLToPath(new URL('../sim/public.js', import.meta.url))
  const spec = fileURLToPath(new URL('../spec/index.js', import.meta.url))
  const sim = fileURLToPath(new URL('../sim/index.js', import.meta.url))
  const jiti = createJiti(import.meta.url, {
    alias: { 'ppcheck/spec': spec, 'ppcheck/sim': sim, ppcheck: here },
    fsCache: false,
    // Without a default export there is none: jiti would otherwise offer the whole module as one.
    interopDefault: false,
  })
  // A file that ends the process would end it with "all properties hold".
  const { exit } = process
  process.exit = () => {
    throw new Error('it calls process.exit')
  }
  try {
    return await jiti.import<Record<string, unknown>>(resolve(file))
  } catch (error) {
    // The file has its own copy of the class where it was loaded by jiti: the code tells.
    const { code, message } = Object(error) as { code?: unknown; message?: unknown }
    const isOurs = error instanceof PpcheckError || /^PPC\d+$/.test(String(code))
    if (isOurs) throw new PpcheckError(code as PpcheckError['code'], `${file}: ${message}`)
    const [line, ...more] = String(message ?? error).split('\n')
    const position = /:(\d+):\d+\)?\s*$/m.exec(more.join('\n'))
    const where = position === null ? '' : ` (line ${position[1]})`
    return fail('PPC111', `${file} does not load: ${line.trim()}${where}`)
  } finally {
    process.exit = exit
  }
}

function checked(file: string, value: unknown): Scenario {
  if (value === null || typeof value !== 'object') {
    fail('PPC111', `${file} exports no scenario`, 'export default defineScenario({ … })')
  }
  try {
    // Plain objects are welcome; a scenario that is defined already passes unchanged.
    const scenario = defineScenario(value as ScenarioInput)
    defineProtocol(scenario.protocol)
    // Searches run in other threads, which a function or a class instance cannot reach.
    structuredClone(scenario)
    return scenario
  } catch (error) {
    if (error instanceof PpcheckError) {
      throw new PpcheckError(error.code, `${file}: ${error.message}`, error.hint)
    }
    // A protocol of the wrong shape that was not built with defineProtocol.
    const reason = error instanceof Error ? error.message : String(error)
    return fail('PPC111', `${file}: the protocol is not plain data: ${reason}`)
  }
}

/** A file's scenario with what the command line says of topology, device, workload and faults. */
function overridden(scenario: Scenario, options: OptionValues): Scenario {
  checkPp(options)
  const { pp, window, draftsPerStep } = options
  const faults = options.faults === undefined ? scenario.faults : faultsFrom(options.faults)
  const wanted = propertiesFrom(options)
  return defineScenario({
    ...scenario,
    topology: {
      pp: pp ?? scenario.topology.pp,
      window: window ?? scenario.topology.window,
      drafts: draftsPerStep ?? scenario.topology.drafts,
    },
    device: { ...scenario.device, ...deviceFrom(options) },
    workload: workloadFrom(scenario.workload, options),
    faults,
    ...(wanted === undefined ? {} : { properties: wanted }),
  })
}

/** A file's workload with the number of steps and of requests that the command line gives. */
function workloadFrom(workload: Scenario['workload'], options: OptionValues): Scenario['workload'] {
  const { steps, requests } = options
  const withRequests = (batch: BatchInput): BatchInput => {
    if (requests === undefined) return batch
    if (Array.isArray(batch.mask) && batch.mask.length !== requests) {
      const rows = batch.mask.length
      fail('PPC107', `${requests} requests, but the file has a mask of ${rows} (--requests)`)
    }
    return { ...batch, requests }
  }
  return {
    steps: steps ?? workload.steps,
    script: workload.script.map(withRequests),
    choices: workload.choices.map(withRequests),
  }
}

/** A model is explored for few steps; only a live run counts them in thousands. */
export function checkSteps({ steps }: OptionValues): void {
  if (steps === undefined || steps <= stepsExploredMax) return
  fail('PPC101', `steps must be an integer from 1 to ${stepsExploredMax}, got ${steps} (--steps)`)
}

function checkPp({ pp }: OptionValues): void {
  if (pp === 1) fail('PPC101', 'a broadcast needs at least two ranks, got 1 (--pp)')
}

function fromVariant(options: OptionValues): NamedScenario {
  const { variant } = options
  if (variant === undefined) {
    fail('PPC105', 'nothing to check: give --variant or a protocol file', variantNames.join(', '))
  }
  const chosen = variants.find(({ id }) => id === variant)
  if (chosen === undefined) {
    failUnknown('variant', variant, variantNames, { where: '--variant' })
  }
  checkPp(options)
  const { transport, headerCheck, receive, send, draft, metadata } = options
  const { activationCommunicator, tokenCommunicator } = options
  const switches: FieldOverrides['switches'] = {
    ...(transport === undefined ? {} : { transport }),
    ...(headerCheck === undefined ? {} : { headerCheck }),
    ...(receive === undefined ? {} : { receive }),
    ...(send === undefined ? {} : { send }),
    ...(draft === undefined ? {} : { draftExecution: draft }),
    ...(metadata === undefined ? {} : { activationMetadata: metadata }),
    ...(activationCommunicator === undefined ? {} : { activationCommunicator }),
    ...(tokenCommunicator === undefined ? {} : { tokenCommunicator }),
  }
  const requests = options.requests ?? 1
  const wanted = propertiesFrom(options)
  const scenario = fieldScenario(variant, {
    switches,
    ...(options.pp === undefined ? {} : { pp: options.pp }),
    ...(options.window === undefined ? {} : { window: options.window }),
    ...(options.draftsPerStep === undefined ? {} : { drafts: options.draftsPerStep }),
    device: deviceFrom(options),
    workload: {
      steps: options.steps ?? 0,
      choices: batchChoices(chosen, requests),
    },
    faults: options.faults === undefined ? [] : faultsFrom(options.faults),
    ...(wanted === undefined ? {} : { properties: wanted }),
  })
  return { scenario, words: ['--variant', variant, ...wordsOf(options)] }
}

const deviceFrom = (options: OptionValues): NonNullable<ScenarioInput['device']> => ({
  ...(options.resident === undefined ? {} : { residentCollectives: options.resident }),
  ...(options.launchOrder === undefined ? {} : { launchOrder: options.launchOrder }),
  ...(options.hardwareQueues === undefined ? {} : { hardwareQueues: options.hardwareQueues }),
  ...(options.eager === undefined ? {} : { eager: options.eager }),
  ...(options.moduleLoading === undefined ? {} : { moduleLoading: options.moduleLoading }),
})

/** `kind[@rank[:step]]`, for example `lost-rpc@1:3`. */
function faultsFrom(texts: readonly string[]): FaultInput[] {
  return texts.map((text) => {
    const match = /^([a-z-]+)(?:@(\d{1,4}|any)(?::(\d{1,4}|any))?)?$/.exec(text)
    if (match === null) {
      fail('PPC102', `not a fault: ${text} (--faults)`, 'kind@rank:step, for example lost-rpc@1:3')
    }
    const kind = faultKinds.find((known) => known === match[1])
    if (kind === undefined) failUnknown('fault', match[1], faultKinds, { where: '--faults' })
    const number = (word: string | undefined): number | 'any' =>
      word === undefined || word === 'any' ? 'any' : Number(word)
    return { kind, rank: number(match[2]), step: number(match[3]) }
  })
}

/** Property ids from ids or names. */
function propertiesFrom(options: OptionValues): PropertyId[] | undefined {
  return options.property?.map((text) => {
    const found = propertyIds.find(
      (id) => id === text.toUpperCase() || properties[id].name === text,
    )
    if (found !== undefined) return found
    const names = propertyIds.flatMap((id) => [id, properties[id].name])
    return failUnknown('property', text, names, { where: '--property' })
  })
}

/** The scenario's part of the options as words, in the table's order. */
function wordsOf(options: OptionValues): string[] {
  const words = scenarioOptions.flatMap((key) => {
    const value = options[key]
    return value === undefined ? [] : [flagName(optionTable[key]), String(value)]
  })
  if (options.faults !== undefined) words.push('--faults', options.faults.join(','))
  if (options.property !== undefined) words.push('--property', options.property.join(','))
  return words
}

/** A word as a shell reads it back. */
export const quoted = (word: string): string =>
  /^[\w./:=@,+#-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** The line that replays a schedule of the scenario that these words name. */
export const replayLine = (words: readonly string[], schedule: string): string =>
  ['npx ppcheck replay', quoted(schedule), ...words].join(' ')
