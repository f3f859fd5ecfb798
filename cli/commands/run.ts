// `ppcheck run`: a variant or a protocol of one's own, live. One process a rank drives its machine
// on a GPU, or on an emulated one.

import type { ChalkInstance } from 'chalk'
import { relevantEnvironment } from '../../backend-cuda/calibration-runs.ts'
import { cudaVersionText, ncclVersionText } from '../../backend-cuda/cuda-addon.ts'
import {
  type LiveFault,
  type LiveOptions,
  type LiveResult,
  runLive,
} from '../../backend-cuda/gpu-launcher.ts'
import { fail } from '../../spec/error.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { type NamedScenario, scenariosFrom } from '../scenario-source.ts'
import { seedOf } from '../search-options.ts'
import { spaced } from '../verdict-text.ts'

const defaults = {
  steps: 1000,
  watchdogMs: 10_000,
  forwardUs: 100,
  sampleUs: 20,
  draftUs: 50,
  activationBytes: 8192,
}

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const named = await scenarioOf(args, options)
  const live = liveOptions(named.scenario, options)
  const result = await runLive({
    ...live,
    signal: invocation.interruptSignal(),
    onProgress: (retired) =>
      progress.update(() => `${spaced(retired)} of ${spaced(live.steps)} steps`),
  })
  return {
    command: 'run',
    exitCode: exitCodeOf(result),
    data: { scenario: named.scenario.name, seed: live.seed, ...summaryOf(result), settings: live },
    text: (paint) => reportText(paint, named, live, result),
  }
}

/** The scenario with as many ranks as GPUs are asked for. */
async function scenarioOf(args: readonly string[], options: OptionValues): Promise<NamedScenario> {
  const { gpus, steps: _steps, ...rest } = options
  if (gpus === undefined) fail('PPC105', 'say on how many GPUs (--gpus 8)')
  // What is known to hold is what one wants to see running first.
  const variant = args.length === 0 ? (rest.variant ?? 'stabilized') : rest.variant
  const chosen = { ...rest, ...(variant === undefined ? {} : { variant }), pp: gpus }
  const named = await scenariosFrom(args, chosen)
  if (named.length !== 1) fail('PPC107', `a run is of one scenario, ${named.length} are given`)
  return named[0]
}

function liveOptions(scenario: Scenario, options: OptionValues): LiveOptions {
  const { cudaLibrary, ncclLibrary, device = 'gpu' } = options
  return {
    ...defaults,
    ...Object.fromEntries(
      (['steps', 'watchdogMs', 'forwardUs', 'sampleUs', 'draftUs', 'activationBytes'] as const)
        .filter((key) => options[key] !== undefined)
        .map((key) => [key, options[key]]),
    ),
    scenario,
    paths: {
      device,
      ...(cudaLibrary === undefined ? {} : { driver: cudaLibrary }),
      ...(ncclLibrary === undefined ? {} : { nccl: ncclLibrary }),
    },
    seed: seedOf(options),
    environment: environmentOf(scenario, options),
    inject: faultsFrom(options.inject ?? [], scenario.topology.pp),
  }
}

/**
 * What the scenario says of the device, as the variables that the libraries read. Only an emulated
 * device can be told how many places it has.
 */
function environmentOf(scenario: Scenario, options: OptionValues): Record<string, string> {
  const { residentCollectives, launchOrder, hardwareQueues, moduleLoading } = scenario.device
  const isEmulated = options.device === 'emulated'
  if (!isEmulated && options.resident !== undefined) {
    const hint = 'ppcheck calibrate measures them; --device emulated has as many as asked for'
    fail('PPC107', 'a GPU has the places that it has (--resident)', hint)
  }
  if (!isEmulated && launchOrder === 'serial') {
    const hint = '--launch-order host-program; a driver before CUDA 12.3 then serialises'
    fail('PPC107', 'the driver decides whether NCCL serialises (--launch-order)', hint)
  }
  return {
    ...(launchOrder === 'free' ? {} : { NCCL_LAUNCH_ORDER_IMPLICIT: '1' }),
    ...(hardwareQueues > 0 ? { CUDA_DEVICE_MAX_CONNECTIONS: String(hardwareQueues) } : {}),
    ...(options.moduleLoading === undefined
      ? {}
      : { CUDA_MODULE_LOADING: moduleLoading.toUpperCase() }),
    ...(isEmulated
      ? {
          PPCHECK_EMULATED_RESIDENT: String(residentCollectives),
          PPCHECK_EMULATED_SEED: String((options.seed ?? 0n) & 0x7fffffffn),
          ...(launchOrder === 'serial' ? { PPCHECK_EMULATED_DRIVER: '12020' } : {}),
        }
      : {}),
  }
}

/** `kind@rank:step`, for example `die@3:10`. */
function faultsFrom(texts: readonly string[], pp: number): LiveFault[] {
  return texts.map((text) => {
    const match = /^(die|stall|own-mask)@(\d{1,2}):(\d{1,9})$/.exec(text)
    if (match === null) {
      const hint = 'kind@rank:step with die, stall or own-mask, for example die@3:10'
      fail('PPC102', `not a fault: ${text} (--inject)`, hint)
    }
    const rank = Number(match[2])
    if (rank >= pp) fail('PPC101', `rank ${rank} does not exist with ${pp} GPUs (--inject)`)
    return { kind: match[1] as LiveFault['kind'], rank, step: Number(match[3]) }
  })
}

function exitCodeOf({ outcome, wrongWords }: LiveResult): ExitCode {
  switch (outcome) {
    case 'completed':
      return wrongWords > 0 ? exitCodes.violated : exitCodes.holds
    case 'wedge':
      return exitCodes.deadlock
    case 'raised':
      return exitCodes.violated
    case 'interrupted':
      return exitCodes.interrupted
    default:
      return exitCodes.unavailable
  }
}

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

function summaryOf(result: LiveResult) {
  const { latenciesMs, ...rest } = result
  const sorted = [...latenciesMs].sort((a, b) => a - b)
  return {
    ...rest,
    stepsPerSecond: result.elapsedMs > 0 ? (result.retired / result.elapsedMs) * 1000 : 0,
    latencyMs: {
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      max: sorted.at(-1) ?? 0,
    },
  }
}

const words: Readonly<Record<LiveResult['outcome'], string>> = {
  completed: 'COMPLETED',
  wedge: 'WEDGED',
  raised: 'RAISED',
  failed: 'FAILED',
  died: 'DIED',
  interrupted: 'INTERRUPTED',
}

function reportText(
  paint: ChalkInstance,
  { scenario, words: scenarioWords }: NamedScenario,
  live: LiveOptions,
  result: LiveResult,
): string {
  const { topology } = scenario
  const summary = summaryOf(result)
  const isGood = result.outcome === 'completed' && result.wrongWords === 0
  const devices = result.emulated ? paint.yellow('emulated GPUs') : `GPUs (${result.gpu})`
  const settings = Object.entries(relevantEnvironment({ ...process.env, ...live.environment }))
  const tokens = { gloo: 'Gloo', sockets: 'TCP sockets (Gloo is not built)', none: undefined }[
    result.tokens
  ]
  return [
    `seed     ${live.seed}`,
    `${paint.bold(scenario.name)} on ${topology.pp} ${devices}: CUDA driver ` +
      `${cudaVersionText(result.driverVersion)}, NCCL ${ncclVersionText(result.ncclVersion)}, ` +
      `window ${topology.window}${result.emulated ? `, ${residentText(scenario)}` : ''}`,
    ...(tokens === undefined ? [] : [`tokens   over ${tokens}; activations over NCCL`]),
    ...(settings.length > 0
      ? [`set      ${settings.map(([key, value]) => `${key}=${value}`).join(' ')}`]
      : []),
    '',
    `${(isGood ? paint.green : paint.red)(words[result.outcome])} ${result.reason}`,
    `steps    ${spaced(result.retired)} of ${spaced(live.steps)}, ` +
      `${summary.stepsPerSecond.toFixed(0)} a second`,
    ...(result.outcome === 'completed'
      ? [
          `payloads ${spaced(result.adopted)} adopted, every word verified; ` +
            `${spaced(result.wrongWords)} words of activations wrong`,
          `latency  dispatch to reply: p50 ${summary.latencyMs.p50.toFixed(2)} ms, ` +
            `p99 ${summary.latencyMs.p99.toFixed(2)} ms`,
          `traffic  ${spaced(result.transfers)} transfers, ${spaced(result.bytes)} bytes`,
        ]
      : [`the end  all processes gone after ${result.endMs} ms, aborts took ${result.abortMs} ms`]),
    ...(result.outcome === 'wedge' ? wedgeText(paint, result, scenarioWords) : []),
  ].join('\n')
}

const residentText = ({ device }: Scenario): string => `${device.residentCollectives} resident`

function wedgeText(
  paint: ChalkInstance,
  { ranks }: LiveResult,
  scenarioWords: readonly string[],
): string[] {
  return [
    '',
    paint.bold('Where each rank stands'),
    ...ranks.map((status, rank) => {
      if (status === undefined) return `rank ${rank}: does not answer`
      const { heads, hostWaitsFor } = status
      const host = hostWaitsFor === undefined ? 'waits for the engine' : `at "${hostWaitsFor}"`
      const streams = heads.map(({ stream, label }) => `${stream}: ${label}`).join('; ')
      return `rank ${rank}: host ${host}; unfinished at the head of ${streams || 'no stream'}`
    }),
    '',
    paint.bold('What the model says of it'),
    `npx ppcheck explore ${scenarioWords.join(' ')}`,
  ]
}
