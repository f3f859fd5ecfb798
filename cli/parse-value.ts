// How the text after an option becomes a value. Every parser either returns a value that needs no
// further check or fails with a coded error that names the option; none of them returns NaN.

import { fail } from '../spec/error.ts'
import { suggestion } from './suggest.ts'

/** Turns text into a value. `name` and `flag` are only for the message. */
export type Parse<Value> = (text: string, name: string, flag: string) => Value

/** A decimal integer in a range. Refuses `1e3`, `0x10`, `2.5`, blanks and anything inexact. */
export const integer =
  ({ min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }): Parse<number> =>
  (text, name, flag) => {
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value
    const range = max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `from ${min} to ${max}`
    fail('PPC101', `${name} must be an integer ${range}, got ${shown(text)} (${flag})`)
  }

/** The same, or one of a few words. */
export const integerOr =
  <const Word extends string>(
    words: readonly Word[],
    range: { min: number; max?: number },
  ): Parse<number | Word> =>
  (text, name, flag) =>
    words.find((word) => word === text) ?? integer(range)(text, name, flag)

/** One of a list of words. */
export const choice =
  <const Word extends string>(words: readonly Word[]): Parse<Word> =>
  (text, name, flag) => {
    const found = words.find((word) => word === text)
    if (found !== undefined) return found
    const expected = words.length === 1 ? words[0] : `one of ${words.join(', ')}`
    fail(
      'PPC102',
      `${name} must be ${expected}, got ${shown(text)} (${flag})`,
      suggestion(text, words).replace(/^known:.*/, '') || undefined,
    )
  }

/** A name that only the command can look up (a variant, for example). Refuses blanks. */
export const name: Parse<string> = (text, what, flag) => {
  if (text.trim() === '') fail('PPC102', `${what} must not be empty (${flag})`)
  return text
}

/** Comma-separated values, each read by `parse`. Refuses empty members. */
export const list =
  <Value>(parse: Parse<Value>): Parse<readonly Value[]> =>
  (text, what, flag) =>
    text.split(',').map((member) => parse(member.trim(), what, flag))

const sizeUnits: Record<string, number> = {
  '': 1,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
}

/** Bytes: `512M`, `2G`, `1.5GiB`. Powers of two, whatever the spelling. */
export const size: Parse<number> = (text, what, flag) => {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?$/i.exec(text)
  const bytes = match ? Math.floor(Number(match[1]) * sizeUnits[match[2].toUpperCase()]) : 0
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes
  fail('PPC112', `${what} must be a size such as 512M or 2G, got ${shown(text)} (${flag})`)
}

const durationUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds: `500ms`, `30s`, `5m`, `1h`; a bare number is in seconds. */
export const durationMs: Parse<number> = (text, what, flag) => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text)
  const ms = match ? Math.round(Number(match[1]) * durationUnits[match[2] ?? 's']) : 0
  if (ms >= 1 && Number.isSafeInteger(ms)) return ms
  fail('PPC112', `${what} must be a duration such as 30s or 5m, got ${shown(text)} (${flag})`)
}

/** A 64-bit seed: decimal, 0x-hex, or a 40-digit commit hash of which the first 64 bits count. */
export const seed: Parse<bigint> = (text, what, flag) => {
  if (/^[0-9a-f]{40}$/i.test(text)) return BigInt(`0x${text.slice(0, 16)}`)
  const value = /^(\d+|0x[0-9a-f]+)$/i.test(text) ? BigInt(text) : -1n
  if (value >= 0n && value < 1n << 64n) return value
  fail(
    'PPC101',
    `${what} must be a number below 2^64 or a 40-digit commit, got ${shown(text)} (${flag})`,
  )
}

/** A part of the runs: `2/4` is the second of four, `{ index: 1, count: 4 }`. */
export const shard: Parse<{ readonly index: number; readonly count: number }> = (
  text,
  what,
  flag,
) => {
  const [, index = '', count = ''] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []
  const found = { index: Number(index) - 1, count: Number(count) }
  if (found.index >= 0 && found.index < found.count) return found
  fail(
    'PPC101',
    `${what} must be i/n with 1 ≤ i ≤ n, for example 2/4, got ${shown(text)} (${flag})`,
  )
}

/** Text as it appears in a message: blanks and nothing at all must be visible, and short. */
const shown = (text: string): string => {
  const short = text.length > 40 ? `${text.slice(0, 37)}...` : text
  // Control characters would break the promise of one line, or steer the terminal.
  return /^[\x21-\x7e]+$/.test(short) ? short : JSON.stringify(short)
}
