// The contents of synthetic payloads, as in native/cuda/token_words.h: every rank can compute what
// every other sends, so that every payload is verified wherever it arrives.

/** The finalizer of MurmurHash3 over the key and the index of the word; uint32. */
export function tokenWord(key: number, index: number): number {
  let x = (key + Math.imul(index, 0x9e3779b9)) >>> 0
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b) >>> 0
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0
  return (x ^ (x >>> 16)) >>> 0
}

/** The key of one payload: other seeds, steps and payloads have other words. */
export const payloadKey = (seed: number, step: number, payload: number): number =>
  tokenWord(tokenWord(seed >>> 0, step), payload)
