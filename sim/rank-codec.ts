// Packs a rank's state into a string of 16-bit units and back. The string is both the key under
// which the state is numbered and the only copy that is kept.

import type { Arrival, Note, RankState } from './rank-model.ts'

export interface RankCodec {
  readonly encode: (state: RankState) => string
  readonly decode: (key: string) => RankState
}

const bias = 8
/** A sender can be ahead of its receiver by as many steps as an RPC ring holds. */
const agoBias = 1024

export function createRankCodec(buffers: readonly string[]): RankCodec {
  let units = new Uint16Array(256)
  let length = 0

  const room = (more: number): void => {
    if (length + more <= units.length) return
    const larger = new Uint16Array(2 * (length + more))
    larger.set(units)
    units = larger
  }
  const put = (value: number): void => {
    units[length++] = value
  }
  const putEntries = (entries: readonly number[]): void => {
    room(2 * entries.length + 1)
    put(entries.length)
    for (const entry of entries) {
      units[length++] = entry & 0xffff
      units[length++] = entry >>> 16
    }
  }
  const putNotes = (notes: readonly Note[]): void => {
    room(4 * notes.length + 1)
    put(notes.length)
    for (const { op, ago, batch, bits } of notes) {
      put(op + bias)
      put(ago)
      put(batch)
      put(bits)
    }
  }

  const encode = (state: RankState): string => {
    length = 0
    room(16 + state.rpc.length + 6 * state.arrived.length + state.released.length)
    put(state.host)
    put(state.flags | (state.skew << 8))
    put(state.rpc.length)
    for (const token of state.rpc) put(token + bias)
    putEntries(state.device)
    putEntries(state.cpu)
    putNotes(state.slots)
    putNotes(state.inbox)
    room(2 + 6 * state.arrived.length + state.released.length)
    put(state.arrived.length)
    for (const { channel, from, signature, ago, batch, skew } of state.arrived) {
      put(channel)
      put(from + bias)
      put(signature)
      put(ago + agoBias)
      put(batch)
      put(skew)
    }
    for (const buffer of state.released) put(buffers.indexOf(buffer))
    return String.fromCharCode.apply(null, units.subarray(0, length) as unknown as number[])
  }

  const decode = (key: string): RankState => {
    let at = 0
    const take = (): number => key.charCodeAt(at++)
    const takeEntries = (): number[] => {
      const entries = new Array<number>(take())
      for (let i = 0; i < entries.length; i++) {
        const low = key.charCodeAt(at++)
        entries[i] = low | (key.charCodeAt(at++) << 16)
      }
      return entries
    }
    const takeNotes = (): Note[] => {
      const notes = new Array<Note>(take())
      for (let i = 0; i < notes.length; i++) {
        notes[i] = { op: take() - bias, ago: take(), batch: take(), bits: take() }
      }
      return notes
    }
    const host = take()
    const flagsAndSkew = take()
    const rpc = new Array<number>(take())
    for (let i = 0; i < rpc.length; i++) rpc[i] = take() - bias
    const device = takeEntries()
    const cpu = takeEntries()
    const slots = takeNotes()
    const inbox = takeNotes()
    const arrived = new Array<Arrival>(take())
    for (let i = 0; i < arrived.length; i++) {
      arrived[i] = {
        channel: take(),
        from: take() - bias,
        signature: take(),
        ago: take() - agoBias,
        batch: take(),
        skew: take(),
      }
    }
    const released: string[] = []
    while (at < key.length) released.push(buffers[take()])
    const flags = flagsAndSkew & 0xff
    const skew = flagsAndSkew >> 8
    return { host, flags, skew, rpc, device, cpu, slots, inbox, arrived, released }
  }

  return { encode, decode }
}
