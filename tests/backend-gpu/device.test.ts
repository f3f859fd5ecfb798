// The addon on the emulated driver: streams, events, kernels, graphs, memory, communicators and
// errors. The same binary runs on a GPU; `npm run test:gpu` does that where there is one.

import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { loadGpuLibraries } from '../../backend-cuda/cuda-addon.ts'
import { type DeviceBuffer, failureText, type GpuDevice } from '../../backend-cuda/gpu-device.ts'
import { payloadKey, tokenWord } from '../../backend-cuda/token-words.ts'
import { emulated, liveObjects, missing, withDevice } from './emulated-device.ts'

const shape = { blocks: 2, threads: 544 }

/** A kernel that spins until it is released, with its sign of life. */
function spinner(device: GpuDevice, stream: number) {
  const buffer = device.createBuffer(8)
  const words = new Uint32Array(buffer.host.buffer, 0, 2)
  device.spinUntil(stream, buffer, shape)
  const work = device.mark(stream, `spinner on ${stream}`)
  device.flush()
  return {
    work,
    blocks: () => Atomics.load(words, 0),
    release: () => Atomics.store(words, 1, 1),
  }
}

/** Waits for something that must happen; gives up when a machine can no longer be called slow. */
async function until(happened: () => boolean): Promise<void> {
  for (let waited = 0; !happened(); waited += 5) {
    if (waited > 20_000) throw new Error('it never happened')
    await sleep(5)
  }
}

const wordsOf = (buffer: DeviceBuffer, count: number): number[] => [
  ...new Uint32Array(buffer.host.buffer, 0, count),
]

describe.skipIf(missing)(`emulated device${missing ? ` (${missing})` : ''}`, () => {
  afterEach(() => expect(liveObjects()).toEqual([0, 0, 0, 0, 0, 0, 0]))

  test('a stream runs in order, and events order streams', async () => {
    await withDevice(async (device) => {
      const order: string[] = []
      const spinning = spinner(device, 0)
      const first = device.mark(0, 'first')
      device.wait(1, first)
      const second = device.mark(1, 'second')
      const third = device.mark(2, 'third')
      const note = (name: string) => () => void order.push(name)
      const waits = [
        device.done(first).then(note('first')),
        device.done(second).then(note('second')),
      ]
      await device.done(third).then(note('third'))
      expect(device.unfinished()).toEqual(['spinner on 0', 'first', 'second'])
      spinning.release()
      await Promise.all(waits)
      expect(order.indexOf('third')).toBe(0)
      expect(order.indexOf('first')).toBeLessThan(order.indexOf('second'))
      expect(device.unfinished()).toEqual([])
    })
  })

  test('payloads are written and verified alike by kernels and by the host', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 64 }), async (seed, count) => {
        await withDevice(async (device) => {
          const key = payloadKey(seed, 3, 1)
          const buffer = device.createBuffer(count * 4)
          device.fill(0, buffer, count, key)
          device.verify(0, buffer, count, key)
          device.download(0, buffer, count * 4)
          await device.done(device.mark(0, 'fill'))
          expect(wordsOf(buffer, count)).toEqual(
            Array.from({ length: count }, (_, index) => tokenWord(key, index)),
          )
          expect(buffer.wrong[0]).toBe(0)
          buffer.host[0] ^= 1
          device.upload(0, buffer, count * 4)
          device.verify(0, buffer, count, key)
          await device.done(device.mark(0, 'one wrong word'))
          expect(buffer.wrong[0]).toBe(1)
        })
      }),
      { seed: 7, numRuns: 10 },
    )
  })

  test('no more kernels spin than there are places; ordinary ones start beside them', async () => {
    await withDevice(async (device) => {
      const spinners = [0, 1, 2].map((stream) => spinner(device, stream))
      // Two places is the emulation's default; a loaded machine takes its time to fill them.
      await until(() => spinners.filter(({ blocks }) => blocks() === 2).length === 2)
      await sleep(30)
      expect(spinners.map(({ blocks }) => blocks()).sort()).toEqual([0, 2, 2])
      const held = spinners.find(({ blocks }) => blocks() === 0)
      for (const each of spinners) if (each !== held) each.release()
      await Promise.all(spinners.map((each) => each !== held && device.done(each.work)))
      await until(() => held?.blocks() === 2)
      held?.release()
    })
  })

  test('a graph waits for an idle device, a kernel does not', async () => {
    await withDevice(
      async (device) => {
        const spinning = spinner(device, 0)
        device.spinFor(1, 1000)
        await device.done(device.mark(1, 'kernel'))
        device.launchGraph(1, 0)
        const graph = device.mark(1, 'graph')
        device.flush()
        await sleep(30)
        expect([graph.isDone, spinning.work.isDone]).toEqual([false, false])
        expect(device.heads()).toEqual([
          { stream: 'main', label: 'spinner on 0' },
          { stream: 'broadcast', label: 'graph' },
        ])
        spinning.release()
        await device.done(graph)
      },
      [[1000, 1000]],
    )
  })

  test('a communicator of one rank, and its sibling', async () => {
    await withDevice(async (device) => {
      const { addon, handle } = emulated()
      const communicator = device.initCommunicator(addon.uniqueId(handle), 1, 0)
      await device.communicatorReady(communicator)
      const sibling = device.splitCommunicator(communicator, 0)
      expect(sibling).toBe(1)
      await device.communicatorReady(1)
      const buffer = device.createBuffer(16)
      device.fill(0, buffer, 4, 9)
      device.transfer('broadcast', 0, { communicator: 1, buffer, bytes: 16, peer: 0 })
      device.verify(0, buffer, 4, 9)
      await device.done(device.mark(0, 'broadcast'))
      expect(buffer.wrong[0]).toBe(0)
    })
  })

  test('a collective whose peers never come ends with an abort', async () => {
    await withDevice(async (device) => {
      const { addon, handle } = emulated()
      const communicator = device.initCommunicator(addon.uniqueId(handle), 2, 0)
      await sleep(20)
      await device.abort()
      expect(communicator).toBe(0)
    })
  })

  test('a failed call names itself, its rank, communicator and step', async () => {
    await withDevice(async (device) => {
      const failed = new Promise<string>((resolve) => {
        device.onFailure = (failure) => resolve(failureText(failure))
      })
      const { addon, handle } = emulated()
      await device.communicatorReady(device.initCommunicator(addon.uniqueId(handle), 1, 0))
      device.step = 5
      const buffer = device.createBuffer(16)
      device.transfer('broadcast', 0, { communicator: 0, buffer, bytes: 16, peer: 3 })
      device.flush()
      expect(await failed).toBe(
        'ncclBroadcast says ncclInvalidArgument on rank 0, communicator 0, step 5',
      )
    })
  })

  test('1 000 devices with a communicator each come and go, half of them by abort', async () => {
    const { addon, handle } = emulated()
    for (let round = 0; round < 1000; round++) {
      await withDevice(async (device) => {
        const isAborted = round % 2 === 1
        device.initCommunicator(addon.uniqueId(handle), isAborted ? 2 : 1, 0)
        if (isAborted) await device.abort()
        else await device.communicatorReady(0)
      })
    }
  })
})

describe('libraries that cannot be used', () => {
  test('say so with a code and a reason', () => {
    const reasons = [
      loadGpuLibraries({ device: 'gpu', driver: '/nowhere/libcuda.so.1' }),
      loadGpuLibraries({ device: 'gpu', driver: 'libm.so.6' }),
      loadGpuLibraries({ device: 'emulated', nccl: 'libm.so.6' }),
      loadGpuLibraries({ device: 'emulated', nccl: '/nowhere/libnccl.so.2' }),
    ].map((found) => (found.available ? 'available' : `${found.code} ${found.reason}`))
    if (missing) return expect(new Set(reasons).size).toBe(1)
    expect(reasons).toEqual([
      expect.stringMatching(/^PPC420 no CUDA driver: \/nowhere\/libcuda\.so\.1: /),
      'PPC421 libm.so.6 is not a CUDA driver: it has no cuDriverGetVersion',
      'PPC421 libm.so.6 is not NCCL: it has no ncclGetVersion',
      expect.stringMatching(/^PPC420 no NCCL: \/nowhere\/libnccl\.so\.2: /),
    ])
  })
})
