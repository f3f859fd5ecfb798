// What a calibration measured on one GPU, as a file, and what it says to the model: each rule of
// page 2.3 that the device decides, with the number that decides it.

import { z } from 'zod'
import { fail } from '../spec/error.ts'

export const deviceProfileVersion = 1

const count = z.int().min(0)

/** One shape of kernel: how many of them spun side by side. */
const residencySchema = z.strictObject({
  /** Hardware connections (CUDA_DEVICE_MAX_CONNECTIONS); null: as the driver has it. */
  connections: z.int().min(1).nullable(),
  blocks: z.int().min(1),
  threads: z.int().min(1),
  launched: count,
  /** Kernels all of whose blocks ran at the same time. */
  resident: count,
  /** Kernels of which only some blocks ran: they hold places and cannot go on. */
  partial: count,
})

/** What else could start while so many kernels spun; microseconds from submission to completion. */
const besideSchema = z.strictObject({
  spinning: count,
  kernelUs: z.number().min(0).nullable(),
  graphUs: z.number().min(0).nullable(),
})

export const deviceProfileSchema = z.strictObject({
  format: z.literal('ppcheck-device-profile'),
  version: z.int(),
  /** Measured on the emulated device: says nothing of any GPU. */
  emulated: z.boolean(),
  device: z.strictObject({
    name: z.string(),
    computeCapability: z.string(),
    multiprocessors: count,
    threadsPerMultiprocessor: count,
    memoryBytes: count,
  }),
  driverVersion: z.string(),
  environment: z.record(z.string(), z.string()),
  residency: z.array(residencySchema).min(1),
  beside: z.array(besideSchema).min(1),
  /** First use of a kernel while one spins: microseconds, or null if it waited. */
  firstUseUs: z.number().min(0).nullable(),
  latencyUs: z.strictObject({ event: z.number().min(0), flag: z.number().min(0) }),
})
export type DeviceProfile = z.infer<typeof deviceProfileSchema>

/** The rules of page 2.3 that a profile decides. */
export interface DeviceRules {
  /** Fewest kernels of any NCCL-like shape that were resident together, 1 to 64. */
  readonly residentCollectives: number
  /** The connections, where two streams that share one were seen to hold each other up. */
  readonly hardwareQueues: number
  /** Did a graph wait until nothing spun? Then a full-graph draft is exclusive. */
  readonly exclusiveGraphs: boolean
  readonly moduleLoading: 'eager' | 'lazy'
}

/**
 * Reads a profile. @throws PpcheckError PPC425 for text that is none, or of another version.
 * `file` is for the message.
 */
export function parseDeviceProfile(text: string, file: string): DeviceProfile {
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch {
    fail('PPC425', `${file} is no device profile: it is not JSON`, 'ppcheck calibrate makes one')
  }
  const { format, version } = Object(data) as { format?: unknown; version?: unknown }
  if (format !== 'ppcheck-device-profile') {
    fail('PPC425', `${file} is no device profile`, 'ppcheck calibrate makes one')
  }
  if (version !== deviceProfileVersion) {
    const mine = `this ppcheck reads version ${deviceProfileVersion}`
    fail('PPC425', `${file} is a device profile of version ${version}; ${mine}`)
  }
  const parsed = deviceProfileSchema.safeParse(data)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]
  return fail('PPC425', `${file}: ${path.join('.')}: ${message}`)
}

export function rulesOf(profile: DeviceProfile): DeviceRules {
  const asDriven = profile.residency.filter(({ connections }) => connections === null)
  const fewest = Math.min(...asDriven.map(({ resident }) => resident))
  const set = Number(profile.environment['CUDA_DEVICE_MAX_CONNECTIONS'] ?? 0)
  const shared = profile.residency.some(
    ({ connections, resident }) =>
      connections !== null && connections < fewest && resident <= connections,
  )
  return {
    residentCollectives: Math.max(1, Math.min(fewest, 64)),
    hardwareQueues: set > 0 && shared ? set : 0,
    exclusiveGraphs: profile.beside.some(
      ({ spinning, graphUs }) => spinning > 0 && graphUs === null,
    ),
    moduleLoading: profile.firstUseUs === null ? 'lazy' : 'eager',
  }
}
