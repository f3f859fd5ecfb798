// `--device-profile`: the rules that a calibration measured, as if they had been typed. So the line
// that replays a violation names them, and needs no profile.

import { readFileSync } from 'node:fs'
import { parseDeviceProfile, rulesOf } from '../backend-cuda/device-profile.ts'
import { fail } from '../spec/error.ts'
import type { OptionValues } from './options.ts'

/**
 * Fills in what the profile decides and the command line leaves open. `isVariant`: a file of one's
 * own says itself which of its launches are exclusive.
 * @throws PpcheckError PPC109 for an unreadable file, PPC425 for one that is no profile.
 */
export function withDeviceProfile(options: OptionValues, isVariant: boolean): OptionValues {
  const file = options.deviceProfile
  if (file === undefined) return options
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return fail('PPC109', `cannot read ${file}: ${code} (--device-profile)`)
  }
  const rules = rulesOf(parseDeviceProfile(text, file))
  return {
    resident: rules.residentCollectives,
    moduleLoading: rules.moduleLoading,
    ...(rules.hardwareQueues > 0 ? { hardwareQueues: rules.hardwareQueues } : {}),
    // A graph that starts beside spinning kernels waits no longer than an eager kernel does.
    ...(isVariant && !rules.exclusiveGraphs ? { draft: 'eager' as const } : {}),
    ...options,
  }
}
