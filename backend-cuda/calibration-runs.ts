// A whole device profile: the calibration as the driver is set, and residency again with other
// numbers of hardware connections, each in a process of its own.

import { fork } from 'node:child_process'
import { type ErrorCode, fail } from '../spec/error.ts'
import type { CalibrationSettings, Measured, Residency } from './calibration.ts'
import { cudaVersionText, type LibraryPaths, requireGpuLibraries } from './cuda-addon.ts'
import { type DeviceProfile, deviceProfileVersion } from './device-profile.ts'
import { scriptFile } from './package-folder.ts'

/** Numbers of connections that are tried beside the driver's own. */
const connectionsTried = [1, 2, 8, 32] as const

/** A calibration that has not ended by then never will. */
const workerTimeoutMs = 120_000

interface Answer<Result> {
  readonly measured?: Result
  readonly code?: ErrorCode
  readonly message?: string
  readonly hint?: string
}

/**
 * Measures one GPU.
 * @throws PpcheckError PPC420 to PPC424; PPC426 if there is no GPU of that number.
 */
export async function profileDevice(
  paths: LibraryPaths,
  settings: CalibrationSettings,
  onProgress: (text: string) => void = () => {},
): Promise<DeviceProfile> {
  const { gpus, driverVersion, emulated } = requireGpuLibraries(paths, false)
  const gpu = gpus[settings.ordinal]
  if (gpu === undefined) {
    const there = gpus.length === 1 ? 'there is 1' : `there are ${gpus.length}`
    fail('PPC426', `no GPU ${settings.ordinal}: ${there} (--gpu)`)
  }
  onProgress(`${gpu.name}: as the driver is set`)
  const main = await inProcess<Measured>({ paths, settings, residencyOnly: false }, {})
  const residency: DeviceProfile['residency'] = main.residency.map((each) => ({
    connections: null,
    ...each,
  }))
  for (const connections of connectionsTried) {
    onProgress(`${gpu.name}: ${connections} hardware connections`)
    const request = { paths, settings, residencyOnly: true }
    const environment = { CUDA_DEVICE_MAX_CONNECTIONS: String(connections) }
    const measured = await inProcess<Residency>(request, environment)
    residency.push(...measured.residency.map((each) => ({ connections, ...each })))
  }
  return {
    format: 'ppcheck-device-profile',
    version: deviceProfileVersion,
    emulated,
    device: {
      name: gpu.name,
      computeCapability: `${gpu.major}.${gpu.minor}`,
      multiprocessors: gpu.multiprocessors,
      threadsPerMultiprocessor: gpu.threadsPerMultiprocessor,
      memoryBytes: gpu.memoryBytes,
    },
    driverVersion: cudaVersionText(driverVersion),
    environment: relevantEnvironment(process.env),
    residency,
    beside: main.beside,
    firstUseUs: main.firstUseUs,
    latencyUs: main.latencyUs,
  }
}

/** The variables that change what was measured, or what a run does. */
export const relevantEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> => {
  const isRelevant = (name: string) =>
    /^(CUDA_DEVICE_MAX_CONNECTIONS|CUDA_MODULE_LOADING|CUDA_LAUNCH_BLOCKING|NCCL_\w+)$/.test(name)
  const entries = Object.entries(environment).filter(([name]) => isRelevant(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']).sort())
}

function inProcess<Result>(
  request: { paths: LibraryPaths; settings: CalibrationSettings; residencyOnly: boolean },
  environment: Record<string, string>,
): Promise<Result> {
  const script = scriptFile('calibration-worker')
  return new Promise((resolve, reject) => {
    const child = fork(script, { env: { ...process.env, ...environment }, stdio: 'inherit' })
    const timer = setTimeout(() => child.kill('SIGKILL'), workerTimeoutMs)
    let answer: Answer<Result> | undefined
    child.on('message', (message) => {
      answer = message as Answer<Result>
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      if (answer?.measured !== undefined) return resolve(answer.measured)
      const ended = `the calibration ended with ${signal ?? `code ${code}`}`
      try {
        fail(answer?.code ?? 'PPC424', answer?.message ?? ended, answer?.hint)
      } catch (error) {
        reject(error)
      }
    })
    child.send(request)
  })
}
