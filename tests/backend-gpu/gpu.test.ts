// For a machine with GPUs: the checklist of the GPU half, each check with its figure, written to an
// evidence file. Without a GPU all is skipped, with the reason. `npm run test:gpu` runs it;
// `PPCHECK_GPU_TESTS=emulated` tries the tests themselves out on the emulated device, and says so.

import { writeFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { defaultSettings } from '../../backend-cuda/calibration.ts'
import { profileDevice } from '../../backend-cuda/calibration-runs.ts'
import {
  cudaVersionText,
  type LibraryPaths,
  loadGpuLibraries,
  ncclVersionText,
} from '../../backend-cuda/cuda-addon.ts'
import { rulesOf } from '../../backend-cuda/device-profile.ts'
import { GpuDevice } from '../../backend-cuda/gpu-device.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import { live } from './live-run.ts'

const emulated = process.env['PPCHECK_GPU_TESTS'] === 'emulated'
const paths: LibraryPaths = { device: emulated ? 'emulated' : 'gpu' }
const driver = loadGpuLibraries(paths, false)
const withNccl = driver.available ? loadGpuLibraries(paths) : driver

const noGpu = driver.available ? false : driver.reason
const noNccl = withNccl.available ? false : withNccl.reason
const gpus = driver.available ? driver.libraries.gpus.length : 0
const fewGpus = noNccl || (gpus < 2 ? `there is ${gpus} GPU, two are needed` : false)

const title = (name: string, obstacle: string | false): string =>
  obstacle === false ? name : `${name} (skipped: ${obstacle})`

const checks: { check: string; figure: unknown }[] = []
const found = (check: string, figure: unknown): void => void checks.push({ check, figure })

afterAll(() => {
  const file = process.env['PPCHECK_GPU_EVIDENCE']
  if (file === undefined || !driver.available) return
  const { libraries } = withNccl.available ? withNccl : driver
  const evidence = {
    emulated: libraries.emulated,
    devices: libraries.gpus,
    driver: cudaVersionText(libraries.driverVersion),
    nccl: withNccl.available ? ncclVersionText(libraries.ncclVersion) : noNccl,
    checks,
  }
  writeFileSync(file, `${JSON.stringify(evidence, undefined, 2)}\n`)
})

/** Runs with the device of GPU 0; the milliseconds that `use` took. */
async function timed(use: (device: GpuDevice) => Promise<void>): Promise<number> {
  if (!driver.available) throw new Error(driver.reason)
  const { libraries } = withNccl.available ? withNccl : driver
  const streams = ['main', 'broadcast']
  const device = new GpuDevice(libraries, { ordinal: 0, rank: 0, streams, graphsNs: [[1e6, 1e6]] })
  try {
    const begin = performance.now()
    await use(device)
    return performance.now() - begin
  } finally {
    await device.close()
  }
}

describe.skipIf(noGpu)(title('one GPU', noGpu), () => {
  test('kernels take the time that they are told, and no less', async () => {
    const ms = await timed(async (device) => {
      device.spinFor(0, 20e6)
      await device.done(device.mark(0, 'kernel'))
    })
    expect(ms).toBeGreaterThanOrEqual(20)
    found('a kernel of 20 ms, seen by the host after (ms)', ms)
  })

  test('an event holds another stream up', async () => {
    await timed(async (device) => {
      device.spinFor(0, 5e6)
      const first = device.mark(0, 'first')
      device.wait(1, first)
      const second = device.mark(1, 'second')
      await device.done(second)
      expect(first.isDone).toBe(true)
    })
    found('a stream waits for an event of another', 'yes')
  })

  test('a captured graph runs', async () => {
    const ms = await timed(async (device) => {
      device.launchGraph(0, 0)
      await device.done(device.mark(0, 'graph'))
    })
    expect(ms).toBeGreaterThanOrEqual(2)
    found('a graph of two kernels of 1 ms, seen by the host after (ms)', ms)
  })

  test('4 MiB are written and verified by kernels, and a wrong word is found', async () => {
    await timed(async (device) => {
      const words = 2 ** 20
      const buffer = device.createBuffer(words * 4)
      device.fill(0, buffer, words, 77)
      device.verify(0, buffer, words, 77)
      device.download(0, buffer, words * 4)
      await device.done(device.mark(0, 'fill'))
      expect(buffer.wrong[0]).toBe(0)
      buffer.host[4] ^= 1
      device.upload(0, buffer, words * 4)
      device.verify(0, buffer, words, 77)
      await device.done(device.mark(0, 'again'))
      expect(buffer.wrong[0]).toBe(1)
    })
    found('words verified', 2 ** 20)
  })

  test('three calibrations say the same', { timeout: 600_000 }, async () => {
    const profiles = []
    for (let i = 0; i < 3; i++) profiles.push(await profileDevice(paths, defaultSettings))
    const rules = profiles.map(rulesOf)
    expect(rules[1]).toEqual(rules[0])
    expect(rules[2]).toEqual(rules[0])
    found('rules of three calibrations', rules[0])
    found('device profile', profiles[0])
  })
})

describe.skipIf(noNccl)(title('NCCL on one GPU', noNccl), () => {
  test('a communicator of one rank: init, sibling, broadcast, finalize', async () => {
    if (!withNccl.available) throw new Error(withNccl.reason)
    const { addon, handle } = withNccl.libraries
    const ms = await timed(async (device) => {
      const first = device.initCommunicator(addon.uniqueId(handle), 1, 0)
      await device.communicatorReady(first)
      const sibling = device.splitCommunicator(first, 0)
      if (sibling !== undefined) await device.communicatorReady(sibling)
      const buffer = device.createBuffer(4096)
      device.fill(0, buffer, 1024, 5)
      device.transfer('broadcast', 0, { communicator: first, buffer, bytes: 4096, peer: 0 })
      device.verify(0, buffer, 1024, 5)
      await device.done(device.mark(0, 'broadcast'))
      expect(buffer.wrong[0]).toBe(0)
    })
    found('init, sibling and one broadcast (ms)', ms)
  })

  test('an init whose peer never comes is aborted', async () => {
    if (!withNccl.available) throw new Error(withNccl.reason)
    const { addon, handle } = withNccl.libraries
    let abortMs = 0
    await timed(async (device) => {
      device.initCommunicator(addon.uniqueId(handle), 2, 0)
      await new Promise((resolve) => setTimeout(resolve, 500))
      const begin = performance.now()
      await device.abort()
      abortMs = performance.now() - begin
    })
    found('abort of an init (ms)', abortMs)
  })
})

describe.skipIf(fewGpus)(title('several GPUs', fewGpus), () => {
  const pp = Math.min(gpus, 8)
  const environment = { PPCHECK_EMULATED_RESIDENT: '2' }

  test.each([
    ['capped', 'full-graph'],
    ['capped', 'eager'],
    ['stabilized', 'eager'],
  ] as const)('%s, draft %s', { timeout: 600_000 }, async (variant, draftExecution) => {
    const overrides = { pp, switches: { draftExecution } }
    const change = { paths, steps: 2000, watchdogMs: 20_000, environment }
    const result = await live(variant, overrides, change)
    const { outcome, reason, retired, elapsedMs } = result
    const expected = fieldScenario(variant, overrides)
    found(`${expected.name} with ${draftExecution} drafts on ${pp} GPUs`, {
      outcome,
      reason,
      retired,
      stepsPerSecond: (retired / elapsedMs) * 1000,
    })
    // Whether rung 3 wedges is what the run is to find out; rung 5 must not.
    expect(['completed', 'wedge']).toContain(outcome)
    if (variant === 'stabilized') expect(outcome).toBe('completed')
  })

  test('a killed rank is named and its peers abort', async () => {
    const inject = [{ kind: 'die', rank: 1, step: 9 }] as const
    const switches = { draftExecution: 'eager' } as const
    const result = await live('capped', { pp, switches }, { paths, inject, environment })
    expect(result).toMatchObject({ outcome: 'died', rank: 1 })
    found('abort after a killed rank (ms)', result.abortMs)
  })
})
