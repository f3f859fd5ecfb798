// The only source of chance: a counter-based generator. The k-th number of a seed can be computed
// by itself, so that runs can be split among workers without changing what any of them does.

/** SplitMix32-style mixing of a seed and a counter to 32 well-spread bits. */
export function mix(seed: number, counter: number): number {
  let z = (Math.imul(seed | 0, 0x9e3779b1) + Math.imul(counter | 0, 0x85ebca77)) | 0
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
  return (z ^ (z >>> 15)) >>> 0
}

/** A stream of numbers from one seed. */
export class Generator {
  private readonly seed: number
  private counter = 0

  constructor(seed: number) {
    this.seed = seed
  }

  /** The next 32 bits, unsigned. */
  next(): number {
    return mix(this.seed, this.counter++)
  }

  /** A number in [0, count), uniform to within 2^-32 · count. */
  below(count: number): number {
    return Math.floor((this.next() / 2 ** 32) * count)
  }
}
