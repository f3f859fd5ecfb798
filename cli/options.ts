// The one table of all options: parsing, checks, defaults and help come from it, so an option is
// added here and nowhere else. Must stay light: it is loaded for `--help`, so it imports no zod, no
// XState and nothing of sim/.

import { fail } from '../spec/error.ts'
import { knobs } from '../spec/museum/museum-case.ts'
import {
  choice,
  durationMs,
  integer,
  integerOr,
  list,
  name,
  type Parse,
  seed,
  shard,
  size,
} from './parse-value.ts'
import { parseReporter } from './reporters/request.ts'

/** Every command that options are declared for. A name may come before its command does. */
export type CommandName =
  | 'explore'
  | 'ladder'
  | 'museum'
  | 'infer'
  | 'ablate'
  | 'gate'
  | 'simulate'
  | 'replay'
  | 'export'
  | 'run'
  | 'calibrate'
  | 'diagnose'
  | 'doctor'
  | 'init'

/** Headings of the help, in the order in which they appear. */
export type OptionGroup = 'Protocol' | 'Engine and device' | 'Workload' | 'Search' | 'Output'

export interface OptionSpec<Value> {
  /** As commander reads it: `--window <n>`, `--quiet`, `--no-color`. */
  readonly flag: string
  readonly help: string
  readonly group: OptionGroup
  /** Which commands take it; `all` options may also stand before the command. */
  readonly commands: readonly CommandName[] | 'all'
  /** Left out for a switch, which is true when given. */
  readonly parse?: Parse<Value>
  /** The value when it is not given. Without one, the value is undefined when not given. */
  readonly default?: Value
  /** For the help only: what decides when the option is not given. */
  readonly otherwise?: string
  /** May be given several times; the value is then the list of all, or their concatenation. */
  readonly repeatable?: boolean
}

// Limits are on everything, so that a slip of the finger is an error and not a full disk.
const ppMax = 30
const windowMax = 63
const stepsMax = 1_000_000_000

const model: readonly CommandName[] = ['explore', 'ladder', 'simulate', 'replay', 'export']
/** Those whose workload is a list of batches, not traffic of requests. */
const byBatch: readonly CommandName[] = ['explore', 'ladder', 'replay', 'export']
/** Commands that take a scenario: to explore it, or to run it live. */
const scenarios: readonly CommandName[] = [...model, 'run']
const searching: readonly CommandName[] = ['explore', 'ladder', 'ablate']

/** Keeps the value's type for `OptionValues` while checking the shape of the entry. */
const option = <Value>(spec: OptionSpec<Value>): OptionSpec<Value> => spec
const flag = (spec: Omit<OptionSpec<boolean>, 'parse'>): OptionSpec<boolean> => spec

const variantDecides = 'as the variant says'

export const optionTable = {
  // --------------------------------------------------------------------------------- protocol
  variant: option({
    flag: '--variant <name>',
    help: 'built-in protocol variant, for example capped or stabilized',
    group: 'Protocol',
    commands: ['explore', 'simulate', 'replay', 'export', 'run'],
    parse: name,
  }),
  transport: option({
    flag: '--transport <kind>',
    help: 'what carries the tokens: nccl (device collectives) or gloo (CPU)',
    group: 'Protocol',
    commands: scenarios,
    parse: choice(['nccl', 'gloo']),
    otherwise: variantDecides,
  }),
  headerCheck: option({
    flag: '--header-check <when>',
    help: 'when a receiver checks the header: host (before it posts the rest) or consume',
    group: 'Protocol',
    commands: scenarios,
    parse: choice(['host', 'consume']),
    otherwise: variantDecides,
  }),
  receive: option({
    flag: '--receive <how>',
    help: 'CPU transport, receivers: blocking, draft-deferred or deferred',
    group: 'Protocol',
    commands: scenarios,
    parse: choice(['blocking', 'draft-deferred', 'deferred']),
    otherwise: variantDecides,
  }),
  send: option({
    flag: '--send <how>',
    help: 'CPU transport, last rank: host or offloaded (a sender thread)',
    group: 'Protocol',
    commands: scenarios,
    parse: choice(['host', 'offloaded']),
    otherwise: variantDecides,
  }),
  draft: option({
    flag: '--draft <how>',
    help: 'draft execution: full-graph (one exclusive CUDA graph) or eager',
    group: 'Protocol',
    commands: scenarios,
    parse: choice(['full-graph', 'eager']),
    otherwise: variantDecides,
  }),
  // ------------------------------------------------------------------------ engine and device
  pp: option({
    flag: '--pp <n>',
    help: 'pipeline size',
    group: 'Engine and device',
    commands: [...model, 'ablate'],
    parse: integer({ min: 1, max: ppMax }),
  }),
  window: option({
    flag: '--window <n>',
    help: 'steps that may be in flight',
    group: 'Engine and device',
    commands: [...scenarios, 'ablate'],
    parse: integer({ min: 1, max: windowMax }),
    otherwise: 'pp or pp + 1, as the variant says',
  }),
  resident: option({
    flag: '--resident <n>',
    help: 'collectives that can be resident on a device at once',
    group: 'Engine and device',
    commands: [...scenarios, 'ablate'],
    parse: integer({ min: 1, max: 64 }),
  }),
  metadata: option({
    flag: '--metadata <kind>',
    help: 'activation metadata: none, or a host rendezvous between neighbours',
    group: 'Engine and device',
    commands: [...scenarios, 'ablate'],
    parse: choice(['none', 'rendezvous']),
  }),
  launchOrder: option({
    flag: '--launch-order <order>',
    help: 'order between communicators of a device: free, host-program or serial',
    group: 'Engine and device',
    commands: scenarios,
    parse: choice(['free', 'host-program', 'serial']),
  }),
  hardwareQueues: option({
    flag: '--hardware-queues <n>',
    help: 'hardware queues that the streams of a device share',
    group: 'Engine and device',
    commands: [...scenarios, 'ablate'],
    parse: integer({ min: 1, max: 128 }),
    otherwise: 'no sharing',
  }),
  eager: option({
    flag: '--eager <n>',
    help: 'operations by which a root may complete ahead of its receivers',
    group: 'Engine and device',
    commands: [...model, 'ablate'],
    parse: integer({ min: 0, max: 1024 }),
  }),
  moduleLoading: option({
    flag: '--module-loading <when>',
    help: 'CUDA module loading: eager, or lazy (first use waits for an idle device)',
    group: 'Engine and device',
    commands: scenarios,
    parse: choice(['eager', 'lazy']),
  }),
  deviceProfile: option({
    flag: '--device-profile <file>',
    help: 'a calibration: resident, hardware queues, graphs, module loading',
    group: 'Engine and device',
    commands: ['explore'],
    parse: name,
  }),
  gpu: option({
    flag: '--gpu <i>',
    help: 'the GPU that is measured (default: 0)',
    group: 'Engine and device',
    commands: ['calibrate'],
    parse: integer({ min: 0, max: 63 }),
  }),
  device: option<'gpu' | 'emulated'>({
    flag: '--device <kind>',
    help: 'gpu, or emulated: ppcheck’s own driver and NCCL, without any GPU',
    group: 'Engine and device',
    commands: ['run', 'calibrate'],
    parse: choice(['gpu', 'emulated']),
    otherwise: 'gpu',
  }),
  gpus: option({
    flag: '--gpus <n>',
    help: 'ranks, each a process with a GPU of its own',
    group: 'Engine and device',
    commands: ['run'],
    parse: integer({ min: 2, max: ppMax }),
  }),
  ncclLibrary: option({
    flag: '--nccl-library <file>',
    help: 'the NCCL library (default: PPCHECK_NCCL_LIBRARY, or libnccl.so.2)',
    group: 'Engine and device',
    commands: ['run'],
    parse: name,
  }),
  cudaLibrary: option({
    flag: '--cuda-library <file>',
    help: 'the CUDA driver library (default: libcuda.so.1)',
    group: 'Engine and device',
    commands: ['run', 'calibrate'],
    parse: name,
  }),
  output: option({
    flag: '--output <file>',
    help: 'file of the device profile, or folder of the dumps that are exported',
    group: 'Output',
    commands: ['calibrate', 'export'],
    parse: name,
  }),
  activationCommunicator: option({
    flag: '--activation-communicator <kind>',
    help: 'activations use one communicator a neighbour pair, or that of the group',
    group: 'Engine and device',
    commands: scenarios,
    parse: choice(['pair', 'group']),
  }),
  tokenCommunicator: option({
    flag: '--token-communicator <kind>',
    help: 'tokens use a sibling communicator, or the one shared with the group',
    group: 'Engine and device',
    commands: scenarios,
    parse: choice(['sibling', 'shared']),
  }),
  // --------------------------------------------------------------------------------- workload
  steps: option({
    flag: '--steps <n>',
    help: 'bound the run to n steps',
    group: 'Workload',
    commands: [...byBatch, 'run'],
    parse: integer({ min: 1, max: stepsMax }),
    otherwise: 'any run length',
  }),
  requests: option({
    flag: '--requests <n>',
    help: 'requests in a batch (R)',
    group: 'Workload',
    commands: [...byBatch, 'run'],
    parse: integer({ min: 1, max: 1024 }),
  }),
  draftsPerStep: option({
    flag: '--drafts-per-step <n>',
    help: 'draft tokens proposed for a request and step (K)',
    group: 'Workload',
    commands: [...scenarios, 'ablate'],
    parse: integer({ min: 1, max: 64 }),
  }),
  iterations: option({
    flag: '--iterations <n>',
    help: 'steps of the engine to simulate',
    group: 'Workload',
    commands: ['simulate'],
    parse: integer({ min: 1, max: 10_000_000 }),
    otherwise: "35924, the report's stress run",
  }),
  workload: option({
    flag: '--workload <file>',
    help: 'JSON file with the traffic: prompts, lengths, streams, budget, costs',
    group: 'Workload',
    commands: ['simulate'],
    parse: name,
    otherwise: "the report's stress run",
  }),
  forwardUs: option({
    flag: '--forward-us <n>',
    help: 'time of a forward pass in microseconds (default: 100)',
    group: 'Workload',
    commands: ['run'],
    parse: integer({ min: 0, max: 10000000 }),
  }),
  sampleUs: option({
    flag: '--sample-us <n>',
    help: 'time of sampling in microseconds (default: 20)',
    group: 'Workload',
    commands: ['run'],
    parse: integer({ min: 0, max: 10000000 }),
  }),
  draftUs: option({
    flag: '--draft-us <n>',
    help: 'time of drafting in microseconds (default: 50)',
    group: 'Workload',
    commands: ['run'],
    parse: integer({ min: 0, max: 10000000 }),
  }),
  activationBytes: option({
    flag: '--activation-bytes <n>',
    help: 'size of an activation (default: 8192)',
    group: 'Workload',
    commands: ['run'],
    parse: integer({ min: 4, max: 4194304 }),
  }),
  inject: option({
    flag: '--inject <list>',
    help: 'faults that strike, as kind@rank:step; kinds: die, stall, own-mask',
    group: 'Workload',
    commands: ['run'],
    parse: list(name),
    repeatable: true,
  }),
  watchdogMs: option({
    flag: '--watchdog <duration>',
    help: 'a run in which nothing moves for so long has wedged (default: 10s)',
    group: 'Workload',
    commands: ['run'],
    parse: durationMs,
  }),
  faults: option({
    flag: '--faults <list>',
    help: 'comma-separated faults that the environment may choose',
    group: 'Workload',
    commands: ['explore', 'replay', 'export'],
    parse: list(name),
    repeatable: true,
  }),
  // ----------------------------------------------------------------------------------- search
  mode: option<'exhaustive' | 'random' | 'both'>({
    flag: '--mode <mode>',
    help: 'exhaustive: the model checker; random: property runs that shrink; or both',
    group: 'Search',
    commands: ['explore'],
    parse: choice(['exhaustive', 'random', 'both']),
    default: 'exhaustive',
  }),
  runs: option({
    flag: '--runs <n>',
    help: 'schedules of a random run (default: 1000)',
    group: 'Search',
    commands: ['explore'],
    parse: integer({ min: 1, max: 1_000_000_000 }),
  }),
  path: option({
    flag: '--path <path>',
    help: 'run and shrink again what failed at this path, with the same seed',
    group: 'Search',
    commands: ['explore'],
    parse: name,
  }),
  bulk: flag({
    flag: '--bulk',
    help: 'random schedules by seed alone: every interleaving, all cores, no shrinking',
    group: 'Search',
    commands: ['explore'],
  }),
  shard: option({
    flag: '--shard <i/n>',
    help: 'of the bulk runs, only every n-th, from the i-th on: 1/4 to 4/4 are all',
    group: 'Search',
    commands: ['explore'],
    parse: shard,
  }),
  checkDeterminism: flag({
    flag: '--check-determinism',
    help: 'do all random runs twice and compare (code 6 if they differ)',
    group: 'Search',
    commands: ['explore'],
  }),
  property: option({
    flag: '--property <list>',
    help: 'comma-separated properties to check, by id (P1) or name (deadlock-freedom)',
    group: 'Search',
    commands: ['explore', 'replay'],
    parse: list(name),
    otherwise: 'all',
    repeatable: true,
  }),
  reduction: option<'stubborn' | 'none'>({
    flag: '--reduction <kind>',
    help: 'stubborn: leave out interleavings that cannot matter; none: all of them',
    group: 'Search',
    commands: searching,
    parse: choice(['stubborn', 'none']),
    default: 'stubborn',
  }),
  continue: flag({
    flag: '--continue',
    help: 'go on after the first violation',
    group: 'Search',
    commands: ['explore'],
  }),
  require: option({
    flag: '--require <scope>',
    help: 'exhaustive: end with code 5 if a budget is reached first',
    group: 'Search',
    commands: searching,
    parse: choice(['exhaustive']),
  }),
  observed: option({
    flag: '--observed <list>',
    help: 'outcome of each rung as seen live, comma-separated: wedge or clean',
    group: 'Search',
    commands: ['ladder'],
    parse: list(choice(['wedge', 'clean'])),
    otherwise: 'the field report',
  }),
  maxStates: option({
    flag: '--max-states <n>',
    help: 'budget: states',
    group: 'Search',
    commands: [...searching, 'infer'],
    parse: integer({ min: 1 }),
  }),
  memory: option({
    flag: '--memory <size>',
    help: 'budget: memory of the state store, for example 512M or 2G',
    group: 'Search',
    commands: searching,
    parse: size,
  }),
  timeLimitMs: option({
    flag: '--time-limit <duration>',
    help: 'budget: time, for example 30s or 5m',
    group: 'Search',
    commands: [...searching, 'museum', 'infer', 'gate'],
    parse: durationMs,
  }),
  seed: option({
    flag: '--seed <seed>',
    help: 'master seed: decimal, 0x-hex or a 40-digit commit',
    group: 'Search',
    commands: ['explore', 'ladder', 'simulate', 'replay', 'run'],
    parse: seed,
  }),
  workers: option({
    flag: '--workers <n>',
    help: 'worker threads, or auto',
    group: 'Search',
    commands: [...searching, 'museum', 'infer', 'gate'],
    parse: integerOr(['auto'], { min: 1, max: 256 }),
  }),
  checkpoint: option({
    flag: '--checkpoint <file>',
    help: 'write the state of the search to a file, now and then and when stopped',
    group: 'Search',
    commands: ['explore'],
    parse: name,
  }),
  checkpointEveryMs: option({
    flag: '--checkpoint-every <duration>',
    help: 'how often a checkpoint is written (default: 60s)',
    group: 'Search',
    commands: ['explore'],
    parse: durationMs,
  }),
  resume: option({
    flag: '--resume <file>',
    help: 'go on from a checkpoint of the same scenario and options',
    group: 'Search',
    commands: ['explore'],
    parse: name,
  }),
  grep: option({
    flag: '--grep <text>',
    help: 'only the cases whose id, report, engine or mechanism contains a text',
    group: 'Search',
    commands: ['museum'],
    parse: name,
  }),
  knob: option({
    flag: '--knob <knob>',
    help: 'only the cases about one thing, for example order, width or modload',
    group: 'Search',
    commands: ['museum'],
    parse: choice(knobs),
  }),
  // ----------------------------------------------------------------------------------- output
  page: option({
    flag: '--page <file>',
    help: 'write the page of the cases, with pictures, as Markdown',
    group: 'Output',
    commands: ['museum'],
    parse: name,
  }),
  save: option({
    flag: '--save <file>',
    help: 'write the first violation as a trace, for replay (*.pptrace.ndjson)',
    group: 'Output',
    commands: ['explore'],
    parse: name,
  }),
  format: option<'mermaid' | 'xstate' | 'promela' | 'tla' | 'flight-recorder'>({
    flag: '--format <format>',
    help: 'mermaid (default), xstate, promela (SPIN), tla (TLC), flight-recorder',
    group: 'Output',
    commands: ['export'],
    parse: choice(['mermaid', 'xstate', 'promela', 'tla', 'flight-recorder']),
  }),
  rank: option({
    flag: '--rank <r>',
    help: 'the rank whose machine is exported (default: the last)',
    group: 'Output',
    commands: ['export'],
    parse: integer({ min: 0, max: ppMax }),
  }),
  step: flag({
    flag: '--step',
    help: 'list every event of the run',
    group: 'Output',
    commands: ['replay'],
  }),
  timing: flag({
    flag: '--no-timing',
    help: 'leave times out, so that equal runs print equal bytes',
    group: 'Output',
    commands: ['ladder', 'museum'],
    default: true,
  }),
  rankFrom: option({
    flag: '--rank-from <pattern>',
    help: 'regular expression whose first group is the rank in the path of a dump',
    group: 'Output',
    commands: ['diagnose'],
    parse: name,
    otherwise: 'the digits at the end of its name',
  }),
  config: option({
    flag: '--config <file>',
    help: 'configuration of the gate (default: ppcheck.config.ts)',
    group: 'Search',
    commands: ['gate'],
    parse: name,
  }),
  update: flag({
    flag: '--update',
    help: 'write the expectations anew, and print what changed',
    group: 'Output',
    commands: ['gate'],
  }),
  reporter: option({
    flag: '--reporter <name[=file]>',
    help: 'default, json, junit, sarif, github, markdown or html; may be repeated',
    group: 'Output',
    commands: [
      'explore',
      'ladder',
      'ablate',
      'gate',
      'simulate',
      'replay',
      'run',
      'calibrate',
      'diagnose',
      'doctor',
      'museum',
      'infer',
    ],
    parse: parseReporter,
    repeatable: true,
  }),
  force: flag({
    flag: '--force',
    help: 'overwrite an existing file',
    group: 'Output',
    commands: ['init', 'calibrate'],
  }),
  quiet: flag({ flag: '--quiet', help: 'no progress on stderr', group: 'Output', commands: 'all' }),
  debug: flag({
    flag: '--debug',
    help: 'stack traces with errors',
    group: 'Output',
    commands: 'all',
  }),
  color: flag({
    flag: '--no-color',
    help: 'no colour, like NO_COLOR=1',
    group: 'Output',
    commands: 'all',
    default: true,
  }),
} as const

export type OptionName = keyof typeof optionTable

/** The entries as one type, for code that walks the table. */
export const optionEntries = Object.entries(optionTable) as readonly [
  OptionName,
  OptionSpec<unknown>,
][]

/** Options whose repeated values are collected one by one (lists are concatenated instead). */
type Collected = 'reporter'
/** Options that always have a value, because the table gives a default. */
type Defaulted = 'mode' | 'reduction' | 'color' | 'timing'

type ValueOf<Name extends OptionName> =
  (typeof optionTable)[Name] extends OptionSpec<infer Value>
    ? Name extends Collected
      ? readonly Value[]
      : Value
    : never

/** What a command receives: undefined means that the option was not given and has no default. */
export type OptionValues = { readonly [Name in Defaulted]: ValueOf<Name> } & {
  readonly [Name in Exclude<OptionName, Defaulted>]?: ValueOf<Name>
}

/** `--window <n>` -> `--window`. */
export const flagName = (spec: { readonly flag: string }): string => spec.flag.split(' ')[0]

/** `timeLimitMs` -> `time limit`: the option as the subject of a message. */
const spokenName = (spec: OptionSpec<unknown>): string =>
  flagName(spec)
    .replace(/^--(no-)?/, '')
    .replaceAll('-', ' ')

/**
 * Reads one occurrence of an option. `previous` is what earlier occurrences gave, if any.
 * A scalar given twice is an error: whichever won, half of the users would expect the other.
 */
export const readOption = (spec: OptionSpec<unknown>, text: string, previous: unknown): unknown => {
  if (spec.parse === undefined) return true
  const where = flagName(spec)
  if (previous !== undefined && !spec.repeatable) {
    fail('PPC107', `${spokenName(spec)} is given twice (${where})`)
  }
  const value = spec.parse(text, spokenName(spec), where)
  if (!spec.repeatable) return value
  const earlier = (previous ?? []) as readonly unknown[]
  return Array.isArray(value) ? [...earlier, ...value] : [...earlier, value]
}

/** Does the command take the option? */
export const takes = (spec: OptionSpec<unknown>, command: CommandName): boolean =>
  spec.commands !== 'all' && spec.commands.includes(command)

/** The help text with its default, `budget: states (default: ...)`. */
export const helpOf = (spec: OptionSpec<unknown>): string => {
  const fallback = spec.otherwise ?? (spec.parse === undefined ? undefined : spec.default)
  return fallback === undefined ? spec.help : `${spec.help} (default: ${fallback})`
}
