// What a transport offers to the ranks that are driven on it: frames from rank to rank on numbered
// communicators, in order. A call never blocks; what has happened is told later, by callbacks.

import type { ErrorCode } from '../spec/error.ts'

/** Frames that `source` sends to this rank on one communicator. */
export interface Link {
  readonly communicator: number
  readonly source: number
}

/** Something that a transport could not do. */
export interface TransportFailure {
  readonly code: ErrorCode
  readonly message: string
  readonly rank: number
  /** −1 where the failure belongs to none. */
  readonly communicator: number
  readonly peer: number
}

export interface Transport {
  readonly rank: number
  readonly size: number
  /** Resolves when every rank is connected. Rejects with PPC409 otherwise. */
  readonly opened: Promise<void>
  /**
   * Sends one frame to each of `peers`. `onSent` is called when all have it. The frame is copied
   * at the call.
   * @throws PpcheckError PPC405 if it is longer than the agreed capacity.
   */
  send(communicator: number, peers: readonly number[], frame: Uint8Array, onSent: () => void): void
  /** Asks for the next frame of a link. Returns a function that takes the request back. */
  receive(link: Link, onFrame: (frame: Buffer) => void): () => void
  /** Ends everything at once; peers learn of it as a lost connection. No callback comes after. */
  close(): void
}
