// Measures what a model needs to know of a GPU: which collectives can spin side by side, and what
// starts beside them. Spinning kernels stand for collectives: their blocks count themselves in
// pinned memory, and they end when the host sets a flag.

import { setTimeout as sleep } from 'node:timers/promises'
import type { GpuLibraries } from './cuda-addon.ts'
import { type DeviceBuffer, GpuDevice } from './gpu-device.ts'

/** Kernel shapes of NCCL: channels (blocks) and threads a block, small to large. */
export const kernelShapes = [
  { blocks: 1, threads: 128 },
  { blocks: 2, threads: 544 },
  { blocks: 16, threads: 544 },
  { blocks: 24, threads: 640 },
] as const

export interface CalibrationSettings {
  readonly ordinal: number
  /** Kernels that are tried side by side. */
  readonly kernelsMax: number
  /** How long nothing must have changed before what is seen is believed, ms. */
  readonly settleMs: number
  /** After how long something that has not completed counts as held up, ms. */
  readonly patienceMs: number
  /** Repetitions of each latency. */
  readonly repetitions: number
}

export const defaultSettings: CalibrationSettings = {
  ordinal: 0,
  kernelsMax: 16,
  settleMs: 100,
  patienceMs: 500,
  repetitions: 101,
}

export interface Residency {
  readonly residency: {
    blocks: number
    threads: number
    launched: number
    resident: number
    partial: number
  }[]
}

export interface Measured extends Residency {
  readonly beside: { spinning: number; kernelUs: number | null; graphUs: number | null }[]
  readonly firstUseUs: number | null
  readonly latencyUs: { event: number; flag: number }
}

interface Spinner {
  readonly buffer: DeviceBuffer
  /** Word 0: blocks that run. Word 1: the flag. */
  readonly words: Uint32Array
}

const elapsedUs = (sinceMs: number): number => Math.round((performance.now() - sinceMs) * 1000)

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Residency alone: what depends on the number of hardware connections. */
export const calibrateResidency = (
  libraries: GpuLibraries,
  settings: CalibrationSettings,
): Promise<Residency> =>
  withSpinners(libraries, settings, async (device, spinners) => ({
    residency: await residencies(device, spinners, settings),
  }))

/** All measurements in the process's own environment. */
export const calibrate = (
  libraries: GpuLibraries,
  settings: CalibrationSettings = defaultSettings,
): Promise<Measured> =>
  withSpinners(libraries, settings, async (device, spinners) => {
    const probe = spinners.length
    const scratch = device.createBuffer(64)
    // First of all, while the fill kernel has never been used and one kernel spins.
    const firstUseUs = await besideSpinning(device, spinners, 1, settings, () =>
      device.fill(probe, scratch, 16, 1),
    )
    const residency = await residencies(device, spinners, settings)
    const most = Math.max(1, Math.min(...residency.map(({ resident }) => resident)))
    const beside: Measured['beside'] = []
    for (let spinning = 0; spinning <= Math.min(most, 4); spinning++) {
      const kernelUs = await besideSpinning(device, spinners, spinning, settings, () =>
        device.spinFor(probe, 1000),
      )
      const graphUs = await besideSpinning(device, spinners, spinning, settings, () =>
        device.launchGraph(probe, 0),
      )
      beside.push({ spinning, kernelUs, graphUs })
    }
    const latencyUs = await latencies(device, spinners[0], settings.repetitions)
    return { residency, beside, firstUseUs, latencyUs }
  })

async function withSpinners<Result>(
  libraries: GpuLibraries,
  { ordinal, kernelsMax }: CalibrationSettings,
  measure: (device: GpuDevice, spinners: readonly Spinner[]) => Promise<Result>,
): Promise<Result> {
  // One stream for each kernel, and three for what is tried beside them.
  const streams = Array.from({ length: kernelsMax + 3 }, (_, index) => `spin-${index}`)
  const device = new GpuDevice(libraries, { ordinal, rank: 0, streams, graphsNs: [[1000]] })
  try {
    const spinners = Array.from({ length: kernelsMax }, (): Spinner => {
      const buffer = device.createBuffer(8)
      return { buffer, words: new Uint32Array(buffer.host.buffer, 0, 2) }
    })
    return await measure(device, spinners)
  } finally {
    await device.close()
  }
}

async function spin(
  device: GpuDevice,
  spinners: readonly Spinner[],
  shape: { blocks: number; threads: number },
  settleMs: number,
) {
  const works = spinners.map(({ buffer, words }, index) => {
    words.fill(0)
    device.spinUntil(index, buffer, shape)
    return device.mark(index, `spinning kernel ${index}`)
  })
  device.flush()
  // Pinned words change under our feet; two equal looks, a settling time apart, are believed.
  const look = () => spinners.map(({ words }) => Atomics.load(words, 0)).join()
  let seen = ''
  for (let now = look(); now !== seen; now = look()) {
    seen = now
    await sleep(settleMs)
  }
  const release = async (): Promise<void> => {
    for (const { words } of spinners) Atomics.store(words, 1, 1)
    for (const work of works) await device.done(work)
  }
  return { release, counts: spinners.map(({ words }) => Atomics.load(words, 0)) }
}

async function residencies(
  device: GpuDevice,
  spinners: readonly Spinner[],
  settings: CalibrationSettings,
): Promise<Residency['residency']> {
  const found: Residency['residency'] = []
  for (const shape of kernelShapes) {
    found.push(await residencyOf(device, spinners, shape, settings))
  }
  return found
}

async function residencyOf(
  device: GpuDevice,
  spinners: readonly Spinner[],
  shape: { blocks: number; threads: number },
  { settleMs }: CalibrationSettings,
) {
  const { release, counts } = await spin(device, spinners, shape, settleMs)
  await release()
  return {
    ...shape,
    launched: counts.length,
    resident: counts.filter((blocks) => blocks === shape.blocks).length,
    partial: counts.filter((blocks) => blocks > 0 && blocks < shape.blocks).length,
  }
}

/** How long something takes beside so many spinning kernels; null if it was held up. */
async function besideSpinning(
  device: GpuDevice,
  spinners: readonly Spinner[],
  spinning: number,
  { settleMs, patienceMs }: CalibrationSettings,
  enqueue: () => void,
): Promise<number | null> {
  const some = spinners.slice(0, spinning)
  const { release } = await spin(device, some, kernelShapes[0], settleMs)
  const begin = performance.now()
  enqueue()
  const work = device.mark(spinners.length, 'probe')
  const done = device.done(work).then(() => elapsedUs(begin))
  const timer = new AbortController()
  const late = sleep(patienceMs, null, { signal: timer.signal }).catch(() => null)
  const result = await Promise.race([done, late])
  timer.abort()
  await release()
  await done
  return result
}

/** From submission to the host's knowledge: by event, and by a flag in pinned memory. */
async function latencies(device: GpuDevice, spinner: Spinner, repetitions: number) {
  const event: number[] = []
  const flag: number[] = []
  for (let i = 0; i < repetitions; i++) {
    let begin = performance.now()
    device.spinFor(0, 0)
    await device.done(device.mark(0, 'empty kernel'))
    event.push(elapsedUs(begin))
    spinner.words.fill(0)
    begin = performance.now()
    device.spinUntil(0, spinner.buffer, kernelShapes[0])
    const work = device.mark(0, 'flag kernel')
    device.flush()
    while (Atomics.load(spinner.words, 0) === 0) {}
    flag.push(elapsedUs(begin))
    Atomics.store(spinner.words, 1, 1)
    await device.done(work)
  }
  return { event: median(event), flag: median(flag) }
}
