// What carries token payloads where a variant has them on a CPU transport: frames from the root to
// every other rank, taken in order. Gloo where it is built, TCP sockets otherwise.

/** A payload on its way; it says itself which one of which step it is. */
export interface Frame {
  readonly name: string
  readonly step: number
  readonly bytes: Uint8Array
}

export interface TokenLine {
  /** Sends a payload from the root to every other rank. Never blocks. */
  post(name: string, step: number, bytes: Uint8Array): void
  /** The next payload from the root, whatever it is: matching is by order alone. */
  receive(): Promise<Frame>
  close(): void
}

/** Length of the name, length of the payload, step: uint32 each, little-endian. */
const headBytes = 12

/** Longest name of a payload, so that a transport of fixed frames can say how long they are. */
export const frameBytesMax = (payloadBytes: number): number => headBytes + 64 + payloadBytes

export function encodeFrame({ name, step, bytes }: Frame): Buffer {
  const text = Buffer.from(name)
  const frame = Buffer.alloc(headBytes + text.length + bytes.length)
  frame.writeUInt32LE(text.length, 0)
  frame.writeUInt32LE(bytes.length, 4)
  frame.writeUInt32LE(step, 8)
  frame.set(text, headBytes)
  frame.set(bytes, headBytes + text.length)
  return frame
}

/** The first frame of what has arrived, and where it ends; undefined while it is not complete. */
export function decodeFrame(data: Buffer): { frame: Frame; end: number } | undefined {
  if (data.length < headBytes) return undefined
  const nameEnd = headBytes + data.readUInt32LE(0)
  const end = nameEnd + data.readUInt32LE(4)
  if (data.length < end) return undefined
  const frame = {
    name: data.toString('utf8', headBytes, nameEnd),
    step: data.readUInt32LE(8),
    // A copy: words are read four bytes at a time, so it must be aligned.
    bytes: Uint8Array.from(data.subarray(nameEnd, end)),
  }
  return { frame, end }
}
