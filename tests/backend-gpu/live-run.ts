// A live run on the emulated device, as the tests of runs, faults and the command share it.

import { spawnSync } from 'node:child_process'
import { type LiveOptions, runLive } from '../../backend-cuda/gpu-launcher.ts'
import { type FieldOverrides, fieldScenario } from '../../spec/protocols/index.ts'

export const live = (
  variant: string,
  overrides: FieldOverrides,
  change: Partial<LiveOptions> = {},
) => {
  const scenario = fieldScenario(variant, overrides)
  return runLive({
    scenario,
    paths: { device: 'emulated' },
    steps: 20,
    seed: 1,
    // A wedge must not be what a busy machine looks like.
    watchdogMs: 3000,
    forwardUs: 100,
    sampleUs: 20,
    draftUs: 50,
    activationBytes: 4096,
    inject: [],
    ...change,
    environment: {
      PPCHECK_EMULATED_RESIDENT: String(scenario.device.residentCollectives),
      ...change.environment,
    },
  })
}

export const ppcheck = (...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/cli/main.js', ...words], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { status, stdout, stderr }
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
