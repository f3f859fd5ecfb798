// A process of its own for one calibration: what the driver reads from its environment
// (CUDA_DEVICE_MAX_CONNECTIONS, CUDA_MODULE_LOADING) is fixed when a process first uses it, and a
// kernel that cannot end must not take the command with it. Started by calibration-runs.ts.

import { PpcheckError } from '../spec/error.ts'
import { type CalibrationSettings, calibrate, calibrateResidency } from './calibration.ts'
import { type LibraryPaths, requireGpuLibraries } from './cuda-addon.ts'

interface Request {
  readonly paths: LibraryPaths
  readonly settings: CalibrationSettings
  readonly residencyOnly: boolean
}

process.once('message', async (request: Request) => {
  try {
    const measure = request.residencyOnly ? calibrateResidency : calibrate
    const measured = await measure(requireGpuLibraries(request.paths, false), request.settings)
    process.send?.({ measured })
  } catch (error) {
    const { code, message, hint } = error as PpcheckError
    process.send?.({ code: error instanceof PpcheckError ? code : undefined, message, hint })
  }
  process.disconnect()
})
