// Token payloads on a CPU transport without Gloo: the root sends over a TCP connection to each
// rank, on loopback. Posting never blocks, receives are taken in order, and nothing needs a
// place on a device: the rules of the model's CPU transport. A frame says which payload of which
// step it is.

import { connect, createServer, type Server, type Socket } from 'node:net'
import { fail } from '../spec/error.ts'
import { decodeFrame, encodeFrame, type Frame, type TokenLine } from './token-line.ts'

const secretBytes = 32

export class TokenSockets implements TokenLine {
  onLost: (rank: number) => void = () => {}
  private readonly rank: number
  private readonly secret: string
  private readonly sockets = new Map<number, Socket>()
  private readonly arrived: Frame[] = []
  private readonly expecting: ((frame: Frame) => void)[] = []
  private server: Server | undefined
  private isClosed = false

  constructor(rank: number, secret: string) {
    this.rank = rank
    this.secret = secret
  }

  /** Listens for the roots; returns the port. */
  listen(): Promise<number> {
    const server = createServer((socket) => this.welcome(socket))
    this.server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  /** Connects to the ranks that this one sends to. @throws PpcheckError PPC402 */
  async connect(ports: ReadonlyMap<number, number>): Promise<void> {
    for (const [rank, port] of ports) {
      const socket = connect({ host: '127.0.0.1', port })
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve)
        socket.once('error', reject)
      }).catch((error) => fail('PPC402', `rank ${this.rank} cannot reach rank ${rank}: ${error}`))
      socket.setNoDelay(true)
      socket.write(this.secret)
      this.keep(rank, socket)
    }
  }

  /** Sends a payload to every connected rank. Never blocks. */
  post(name: string, step: number, bytes: Uint8Array): void {
    const frame = encodeFrame({ name, step, bytes })
    for (const socket of this.sockets.values()) socket.write(frame)
  }

  /** The next payload from the root, whatever it is: matching is by order alone. */
  receive(): Promise<Frame> {
    const frame = this.arrived.shift()
    if (frame !== undefined) return Promise.resolve(frame)
    return new Promise((resolve) => this.expecting.push(resolve))
  }

  close(): void {
    this.isClosed = true
    for (const socket of this.sockets.values()) socket.destroy()
    this.server?.close()
  }

  private keep(rank: number, socket: Socket): void {
    this.sockets.set(rank, socket)
    const lost = (): void => {
      if (!this.isClosed) this.onLost(rank)
    }
    socket.on('error', lost)
    socket.on('close', lost)
  }

  private welcome(socket: Socket): void {
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    let pending = Buffer.alloc(0)
    let isKnown = false
    socket.on('data', (data) => {
      pending = pending.length === 0 ? data : Buffer.concat([pending, data])
      if (!isKnown) {
        if (pending.length < secretBytes) return
        // Whoever does not know the run's secret is none of its ranks.
        if (pending.toString('latin1', 0, secretBytes) !== this.secret) {
          socket.destroy()
          return
        }
        pending = pending.subarray(secretBytes)
        isKnown = true
      }
      pending = this.frames(pending)
    })
  }

  private frames(data: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
    let rest = data
    for (let found = decodeFrame(rest); found !== undefined; found = decodeFrame(rest)) {
      rest = rest.subarray(found.end)
      const { frame } = found
      const taker = this.expecting.shift()
      if (taker === undefined) this.arrived.push(frame)
      else taker(frame)
    }
    return rest
  }
}
