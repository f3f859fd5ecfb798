// The transport over Gloo, with all ranks in this process: order, flow control, losses, closing.
// Skipped by name where the addon is not built.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { TransportFailure } from '../../backend-cuda/backend.ts'
import { GlooTransport, loadGloo } from '../../backend-cuda/gloo.ts'
import { glooAddonFile } from '../../backend-cuda/package-folder.ts'

const live = test.skipIf(!existsSync(glooAddonFile()))

const open: GlooTransport[] = []
const folders: string[] = []
const failures: TransportFailure[] = []

afterEach(() => {
  for (const transport of open.splice(0)) transport.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
  failures.length = 0
})

function meshes(size: number, starting: number = size, timeoutMs = 5000): GlooTransport[] {
  const store = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
  folders.push(store)
  const common = { size, communicators: 2, depth: 3, capacity: 64, timeoutMs, store }
  const made = Array.from({ length: starting }, (_, rank) => {
    const sources = Array.from({ length: size }, (_, r) => r).filter((r) => r !== rank)
    const links = sources.flatMap((source) => [
      { communicator: 0, source },
      { communicator: 1, source },
    ])
    const onFailure = (failure: TransportFailure) => failures.push(failure)
    return new GlooTransport({
      ...common,
      rank,
      interface: '',
      host: '127.0.0.1',
      links,
      onFailure,
    })
  })
  open.push(...made)
  return made
}

/** A frame begins with its length. */
function frame(value: number, bytes = 12): Uint8Array {
  const data = Buffer.alloc(bytes)
  data.writeUInt32LE(bytes, 0)
  data.writeDoubleLE(value, 4)
  return data
}

const next = (transport: GlooTransport, communicator: number, source: number): Promise<number> =>
  new Promise((resolve) =>
    transport.receive({ communicator, source }, (data) => resolve(data.readDoubleLE(4))),
  )

live('each link keeps its order, and communicators do not disturb each other', async () => {
  const [a, b] = meshes(2)
  await Promise.all([a.opened, b.opened])
  const sums = await Promise.all(
    [0, 1].map(async (communicator) => {
      const seen: number[] = []
      for (let i = 0; i < 200; i++) {
        a.send(communicator, [1], frame(1000 * communicator + i), () => {})
      }
      for (let i = 0; i < 200; i++) seen.push(await next(b, communicator, 0))
      return seen
    }),
  )
  for (const [communicator, seen] of sums.entries()) {
    expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => 1000 * communicator + i))
  }
  expect(failures).toEqual([])
})

live('a sender is at most the agreed number of frames ahead of what was taken', async () => {
  const [a, b] = meshes(2)
  await Promise.all([a.opened, b.opened])
  let sent = 0
  const four = new Promise<void>((resolve) => {
    for (let i = 0; i < 5; i++) {
      a.send(0, [1], frame(i), () => {
        sent++
        if (sent === 4) resolve()
      })
    }
  })
  // The other communicator has room: its round trip shows that three were all that could go.
  for (let i = 0; i < 20; i++) {
    a.send(1, [1], frame(i), () => {})
    expect(await next(b, 1, 0)).toBe(i)
  }
  expect(sent).toBeLessThanOrEqual(3)
  expect(await next(b, 0, 0)).toBe(0)
  await four
  expect(sent).toBe(4)
})

live('a request that was taken back leaves the frame to the next', async () => {
  const [a, b] = meshes(2)
  await Promise.all([a.opened, b.opened])
  const takeBack = b.receive({ communicator: 0, source: 0 }, () => expect.unreachable())
  takeBack()
  a.send(0, [1], frame(7), () => {})
  expect(await next(b, 0, 0)).toBe(7)
})

live('a rank that leaves is a failure of those who expect something of it, by number', async () => {
  const [a, b, c] = meshes(3)
  await Promise.all([a.opened, b.opened, c.opened])
  const lost = new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const ranks = new Set(failures.filter(({ peer }) => peer === 1).map(({ rank }) => rank))
      if (!ranks.has(0) || !ranks.has(2)) return
      clearInterval(timer)
      resolve()
    }, 5)
  })
  b.close()
  await lost
  for (const failure of failures) expect(failure.code).toBe('PPC404')
})

live('a frame over the capacity is refused before it can do harm', async () => {
  const [a, b] = meshes(2)
  await Promise.all([a.opened, b.opened])
  expect(() => a.send(0, [1], frame(0, 65), () => {})).toThrow(/65 B exceeds 64 B/)
})

live(
  'a rank that never starts is an error within the deadline, and close ends the wait',
  async () => {
    const [alone] = meshes(2, 1, 200)
    await expect(alone.opened).rejects.toMatchObject({ code: 'PPC409' })
    const [other] = meshes(2, 1, 60_000)
    other.opened.catch(() => {})
    other.close()
  },
)

test('a missing addon says what mends it', () => {
  expect(() => loadGloo('/nowhere/ppcheck_gloo.node')).toThrowError(
    expect.objectContaining({ code: 'PPC401', hint: expect.stringContaining('libgloo-dev') }),
  )
})
