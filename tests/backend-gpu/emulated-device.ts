// What the tests of the GPU half share: the emulated libraries, or why they are not here.

import { loadGpuLibraries } from '../../backend-cuda/cuda-addon.ts'
import { GpuDevice } from '../../backend-cuda/gpu-device.ts'

const found = loadGpuLibraries({ device: 'emulated' })

/** For `describe.skipIf`: without a C++ compiler there is nothing to test. */
export const missing = found.available ? false : found.reason

export const emulated = () => {
  if (!found.available) throw new Error(found.reason)
  return found.libraries
}

export const streams = ['main', 'broadcast', 'activation-receive'] as const

/** Opens an emulated device, uses it, and closes it whatever happens. */
export async function withDevice(
  use: (device: GpuDevice) => Promise<void>,
  graphsNs: readonly (readonly number[])[] = [],
): Promise<void> {
  const device = new GpuDevice(emulated(), { ordinal: 0, rank: 0, streams, graphsNs })
  try {
    await use(device)
  } finally {
    await device.close()
  }
}

/** Live objects of the emulation in this process. */
export const liveObjects = (): number[] => emulated().addon.emulatedCounts(emulated().handle)
