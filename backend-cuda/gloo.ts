// The Gloo half of the addon as TypeScript sees it, its loader, and the transport over it. Where
// the addon is missing, the answer is a reason and what mends it.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fail } from '../spec/error.ts'
import type { Link, Transport, TransportFailure } from './backend.ts'
import { glooAddonFile } from './package-folder.ts'
import { probeAll } from './probe.ts'

interface MeshOptions {
  readonly rank: number
  readonly size: number
  readonly communicators: number
  /** Frames that a sender may be ahead of each receiver. */
  readonly depth: number
  /** Bytes that a frame may have. */
  readonly capacity: number
  readonly timeoutMs: number
  /** A folder that only the ranks of this run know: the rendezvous. */
  readonly store: string
  /** A network interface; empty: `host` says where to bind. */
  readonly interface: string
  readonly host: string
  /** Communicator and source of each link, one after the other. */
  readonly links: readonly number[]
}

type Notify = (
  kind: number,
  number: number,
  data: Buffer | string,
  communicator: number,
  peer: number,
) => void

/** The functions of `ppcheck_gloo.node` (native/gloo/addon.cc). */
interface GlooAddon {
  open(options: MeshOptions, notify: Notify): object
  send(
    mesh: object,
    communicator: number,
    peers: readonly number[],
    frame: Uint8Array,
    token: number,
  ): void
  release(mesh: object, link: number): void
  close(mesh: object): void
  dieWithParent(parent: number): void
}

const notices = { opened: 0, arrived: 1, sent: 2, failed: 3 } as const

/**
 * Loads the addon.
 * @throws PpcheckError PPC401 with the reason, and with what mends it.
 */
export function loadGloo(file: string = glooAddonFile()): GlooAddon {
  const why = existsSync(file) ? undefined : 'it is not built'
  if (why === undefined) {
    try {
      return createRequire(import.meta.url)(file) as GlooAddon
    } catch (error) {
      const { message } = error as Error
      fail('PPC401', `Gloo is not available: ${message.split('\n')[0]}`, remedy)
    }
  }
  const probe = probeAll().find(({ name }) => name === 'gloo')
  const reason = probe?.available === false ? probe.reason : why
  fail('PPC401', `Gloo is not available: ${reason}`, remedy)
}

const remedy = 'apt-get install -y libgloo-dev && npm rebuild ppcheck'

/** How a mesh is opened; every rank must give the same but for `rank` and `links`. */
export interface GlooOptions extends Omit<MeshOptions, 'links'> {
  readonly links: readonly Link[]
  readonly onFailure: (failure: TransportFailure) => void
}

interface Mailbox {
  readonly link: Link
  readonly frames: Buffer[]
  readonly wanted: { onFrame: (frame: Buffer) => void }[]
}

/** Ranks connected by Gloo over TCP. */
export class GlooTransport implements Transport {
  readonly rank: number
  readonly size: number
  readonly opened: Promise<void>
  private readonly addon: GlooAddon
  private readonly mesh: object
  private readonly mailboxes: readonly Mailbox[]
  private readonly sending = new Map<number, () => void>()
  private readonly options: GlooOptions
  private nextToken = 0
  private isOpen = false
  private isClosed = false
  private settle: { resolve: () => void; reject: (error: unknown) => void } | undefined

  constructor(options: GlooOptions) {
    this.options = options
    this.rank = options.rank
    this.size = options.size
    this.addon = loadGloo()
    this.mailboxes = options.links.map((link) => ({ link, frames: [], wanted: [] }))
    this.opened = new Promise((resolve, reject) => {
      this.settle = { resolve, reject }
    })
    const { onFailure: _, links, ...rest } = options
    const flat = links.flatMap(({ communicator, source }) => [communicator, source])
    this.mesh = this.addon.open({ ...rest, links: flat }, (...notice) => this.take(...notice))
  }

  send(
    communicator: number,
    peers: readonly number[],
    frame: Uint8Array,
    onSent: () => void,
  ): void {
    const { capacity } = this.options
    if (frame.length > capacity) {
      fail('PPC405', `rank ${this.rank}: a frame of ${frame.length} B exceeds ${capacity} B`)
    }
    const token = this.nextToken++
    this.sending.set(token, onSent)
    this.addon.send(this.mesh, communicator, peers, frame, token)
  }

  receive({ communicator, source }: Link, onFrame: (frame: Buffer) => void): () => void {
    const number = this.mailboxes.findIndex(
      ({ link }) => link.communicator === communicator && link.source === source,
    )
    const box = this.mailboxes[number]
    if (box === undefined) {
      const where = `communicator ${communicator}`
      fail('PPC402', `rank ${this.rank}: nothing is received from rank ${source} on ${where}`)
    }
    const request = { onFrame }
    box.wanted.push(request)
    // Never inside this call: a caller must be able to finish what it is doing.
    queueMicrotask(() => this.deliver(number))
    return () => {
      const at = box.wanted.indexOf(request)
      if (at >= 0) box.wanted.splice(at, 1)
    }
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.addon.close(this.mesh)
  }

  private deliver(number: number): void {
    const { frames, wanted } = this.mailboxes[number]
    while (!this.isClosed && frames.length > 0 && wanted.length > 0) {
      const [frame] = frames.splice(0, 1)
      const [{ onFrame }] = wanted.splice(0, 1)
      this.addon.release(this.mesh, number)
      onFrame(frame)
    }
  }

  private take(...[kind, number, data, communicator, peer]: Parameters<Notify>): void {
    if (this.isClosed) return
    switch (kind) {
      case notices.opened:
        this.isOpen = true
        this.settle?.resolve()
        return
      case notices.arrived:
        this.mailboxes[number].frames.push(data as Buffer)
        this.deliver(number)
        return
      case notices.sent: {
        const onSent = this.sending.get(number)
        this.sending.delete(number)
        onSent?.()
        return
      }
      default:
        this.failed(String(data), communicator, peer)
    }
  }

  private failed(text: string, communicator: number, peer: number): void {
    // Gloo's messages begin with the place in its source.
    const message = text.replace(/^\[.*?\]\s*/, '').split('\n')[0]
    const failure = { code: 'PPC404', message, rank: this.rank, communicator, peer } as const
    if (this.isOpen) {
      this.options.onFailure(failure)
      return
    }
    try {
      fail('PPC409', `rank ${this.rank} cannot connect: ${message}`)
    } catch (error) {
      this.settle?.reject(error)
    }
  }
}
