// The GPU half of the native addon as TypeScript sees it, and its loader. Where the addon, the
// driver or NCCL is missing, the answer is a reason and never an exception.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ErrorCode } from '../spec/error.ts'
import { fail } from '../spec/error.ts'
import { addonFolders } from './package-folder.ts'

/** A handle that only the addon can read. */
export type Handle = object

/** A call of the driver or of NCCL that went wrong; −1 where something does not apply. */
export interface GpuFailure {
  readonly call: string
  readonly result: string
  readonly rank: number
  readonly communicator: number
  readonly step: number
}

/** What the issuing thread tells besides the tokens of completed work. */
export interface Notice {
  readonly kind: 'communicator-ready' | 'failed' | 'aborted' | 'closed'
  /** Number of the communicator that is ready. */
  readonly token: number
  readonly failure?: GpuFailure
}

export interface Gpu {
  readonly name: string
  readonly memoryBytes: number
  /** Compute capability. */
  readonly major: number
  readonly minor: number
  readonly multiprocessors: number
  readonly threadsPerMultiprocessor: number
}

interface Loaded {
  readonly available: boolean
  readonly code?: ErrorCode
  readonly reason?: string
  readonly driverVersion: number
  readonly ncclVersion: number
  readonly emulatedResident: number
  readonly gpus?: readonly Gpu[]
  readonly libraries?: Handle
}

/** The functions of `ppcheck_cuda.node` (native/cuda/addon.cc). */
export interface CudaAddon {
  load(driverPath: string, ncclPath: string, withNccl: boolean): Loaded
  /** The id of a communicator, uint8[128]: made once, sent to every member. */
  uniqueId(libraries: Handle): Buffer
  /** Live objects of the emulation (contexts, streams, events, …); empty on a real driver. */
  emulatedCounts(libraries: Handle): number[]
  open(
    libraries: Handle,
    options: {
      readonly ordinal: number
      readonly rank: number
      readonly streams: number
      readonly events: number
      readonly graphsNs: readonly (readonly number[])[]
    },
    notify: (tokens: readonly number[], notices: readonly Notice[]) => void,
  ): Handle
  /** `memory` is pinned: uint8[bytes] and the uint32 that a verification counts in. */
  createBuffer(device: Handle, bytes: number): { index: number; memory: ArrayBuffer }
  initCommunicator(device: Handle, id: Buffer, ranks: number, rank: number): number
  /** −1 where this NCCL has no ncclCommSplit. */
  splitCommunicator(device: Handle, parent: number, key: number): number
  submit(device: Handle, commands: Float64Array, count: number): void
  abort(device: Handle): void
  close(device: Handle): void
  busyStreams(device: Handle): boolean[]
}

/** Where the libraries come from. */
export interface LibraryPaths {
  /** The real GPUs, or the emulated ones of emulation/. */
  readonly device: 'gpu' | 'emulated'
  readonly nccl?: string
  readonly driver?: string
}

export interface GpuLibraries {
  readonly addon: CudaAddon
  readonly handle: Handle
  /** As the libraries encode them: 13000 is CUDA 13.0, 22803 is NCCL 2.28.3; 0 if not loaded. */
  readonly driverVersion: number
  readonly ncclVersion: number
  readonly gpus: readonly Gpu[]
  /** Told by the library itself: an emulated device is always labelled as one. */
  readonly emulated: boolean
}

export type Availability =
  | { readonly available: true; readonly libraries: GpuLibraries }
  | { readonly available: false; readonly code: ErrorCode; readonly reason: string }

/** Loads the addon and the libraries, or says why not. `withNccl` is off for a calibration. */
export function loadGpuLibraries(paths: LibraryPaths, withNccl = true): Availability {
  const folder = addonFolders().find((each) => existsSync(join(each, 'ppcheck_cuda.node')))
  if (folder === undefined) {
    const reason = 'the native addon is not built (node backend-cuda/native/cuda/build.mjs)'
    return { available: false, code: 'PPC420', reason }
  }
  let addon: CudaAddon
  try {
    addon = createRequire(import.meta.url)(join(folder, 'ppcheck_cuda.node')) as CudaAddon
  } catch (error) {
    return { available: false, code: 'PPC420', reason: `the native addon does not load: ${error}` }
  }
  const isEmulated = paths.device === 'emulated'
  const driver = paths.driver ?? (isEmulated ? join(folder, 'libcuda.so.1') : '')
  const ownNccl = process.env['PPCHECK_NCCL_LIBRARY'] ?? ''
  const nccl = paths.nccl ?? (isEmulated ? join(folder, 'libnccl.so.2') : ownNccl)
  const loaded = addon.load(driver, nccl, withNccl)
  const { code = 'PPC420', reason = 'unknown', libraries, gpus } = loaded
  if (!loaded.available || libraries === undefined || gpus === undefined) {
    return { available: false, code, reason }
  }
  return {
    available: true,
    libraries: {
      addon,
      handle: libraries,
      driverVersion: loaded.driverVersion,
      ncclVersion: loaded.ncclVersion,
      gpus,
      emulated: loaded.emulatedResident >= 0,
    },
  }
}

/** The same for who cannot go on without. @throws PpcheckError PPC420 to PPC423 */
export function requireGpuLibraries(paths: LibraryPaths, withNccl = true): GpuLibraries {
  const found = loadGpuLibraries(paths, withNccl)
  if (found.available) return found.libraries
  const instead = paths.device === 'gpu' ? '--device emulated runs without a GPU' : undefined
  return fail(found.code, found.reason, instead)
}

/** `13.0` of 13000. */
export const cudaVersionText = (version: number): string =>
  `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`

/** `2.28.3` of 22803. */
export const ncclVersionText = (version: number): string =>
  `${Math.floor(version / 10000)}.${Math.floor((version % 10000) / 100)}.${version % 100}`
