// Token payloads over Gloo, beside activations on NCCL: rungs 4 and 5 of the ladder as they were.

import { GlooTransport } from './gloo.ts'
import {
  decodeFrame,
  encodeFrame,
  type Frame,
  frameBytesMax,
  type TokenLine,
} from './token-line.ts'

export interface TokenGlooOptions {
  readonly rank: number
  readonly size: number
  /** Rank that sends all tokens. */
  readonly root: number
  /** A folder that only the ranks of this run know: the rendezvous. */
  readonly store: string
  /** Frames that the root may be ahead. */
  readonly depth: number
  /** Bytes of the largest payload. */
  readonly payloadBytesMax: number
  readonly onLost: (peer: number) => void
}

/** The transport's frames begin with their length, uint32. */
const lengthBytes = 4

/** Longer than ranks ever wait for each other in a run that goes on: its watchdog decides. */
const timeoutMs = 600_000

export class TokenGloo implements TokenLine {
  readonly opened: Promise<void>
  private readonly transport: GlooTransport
  private readonly others: readonly number[]
  private readonly root: number

  /** @throws PpcheckError PPC401 where Gloo is not built */
  constructor(options: TokenGlooOptions) {
    const { rank, size, root, store, depth, payloadBytesMax } = options
    this.root = root
    this.others = Array.from({ length: size }, (_, peer) => peer).filter((peer) => peer !== rank)
    this.transport = new GlooTransport({
      rank,
      size,
      communicators: 1,
      depth,
      capacity: lengthBytes + frameBytesMax(payloadBytesMax),
      timeoutMs,
      store,
      interface: '',
      host: '127.0.0.1',
      links: rank === root ? [] : [{ communicator: 0, source: root }],
      onFailure: ({ peer }) => options.onLost(peer),
    })
    this.opened = this.transport.opened
  }

  post(name: string, step: number, bytes: Uint8Array): void {
    const frame = encodeFrame({ name, step, bytes })
    const length = Buffer.alloc(lengthBytes)
    length.writeUInt32LE(lengthBytes + frame.length)
    this.transport.send(0, this.others, Buffer.concat([length, frame]), () => {})
  }

  receive(): Promise<Frame> {
    return new Promise((resolve) => {
      this.transport.receive({ communicator: 0, source: this.root }, (data) => {
        const found = decodeFrame(data.subarray(lengthBytes))
        if (found !== undefined) resolve(found.frame)
      })
    })
  }

  close(): void {
    this.transport.close()
  }
}
