// The pickle reader: what a flight recorder writes is read, all else is refused or cut short, and
// nothing that a hostile file asks for happens.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { flightDump } from '../../sim/diagnosis/flight-recorder.ts'
import { decodeUtf8, type PickleDict, readPickle } from '../../sim/diagnosis/pickle.ts'
import { PpcheckError } from '../../spec/error.ts'
import { gloo } from './samples.ts'

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'))
const codeOf = (run: () => unknown): string | undefined => {
  try {
    run()
  } catch (error) {
    if (error instanceof PpcheckError) return error.code
    throw error
  }
  return undefined
}

const genuine = readFileSync(join(gloo, 'healthy/comm_lib_trace_rank_0'))

describe('what torch writes', () => {
  test('a genuine dump', () => {
    const { value, truncatedAt } = readPickle(genuine)
    expect(truncatedAt).toBeUndefined()
    const dump = flightDump(value)
    expect(dump.version).toBe('2.10')
    expect(dump.entries.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 18 }, (_, i) => i + 1),
    )
    expect(dump.statuses).toEqual([{ pgId: 2, enqueued: 18, started: -1, completed: 18 }])
  })

  test('integers keep their sign and every bit', () => {
    expect(readPickle(bytes('\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.')).value).toBe(
      0x7fff_ffff_ffff_ffffn,
    )
    expect(readPickle(bytes('\x80\x02\x8a\x08\xfe\xff\xff\xff\xff\xff\xff\xff.')).value).toBe(-2)
    expect(readPickle(bytes('\x80\x02J\xff\xff\xff\xff.')).value).toBe(-1)
  })

  test('text of every kind', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        expect(decodeUtf8(Buffer.from(text))).toBe(Buffer.from(text).toString('utf8'))
      }),
      { seed: 5, numRuns: 300 },
    )
  })

  test('the last value of a key wins, as in Python', () => {
    const { value } = readPickle(bytes('\x80\x02}(X\x01\0\0\0aK\x01X\x01\0\0\0aK\x02u.'))
    expect((value as PickleDict).get('a')).toBe(2)
  })
})

describe('hostile pickles', () => {
  test.each([
    ['GLOBAL', 'cos\nsystem\n(X\x02\0\0\0idtR.'],
    ['STACK_GLOBAL', '\x80\x04\x8c\x02os\x8c\x06system\x93.'],
    ['REDUCE', '\x80\x02]]R.'],
    ['BUILD', '\x80\x02}}b.'],
    ['PERSID', 'P0\n.'],
    ['an integer of 255 bytes', `\x80\x02\x8a\xff${'\x01'.repeat(255)}.`],
    ['a pop of nothing', '\x80\x02.'],
    ['a memo that is not there', '\x80\x02h\x07.'],
    ['items of a list', '\x80\x02](K\x01K\x02u.'],
    ['deep nesting', `\x80\x02${'('.repeat(100_000)}.`],
  ])('%s is refused with its offset', (_name, text) => {
    expect(codeOf(() => readPickle(bytes(text)))).toBe('PPC501')
  })

  test('a list that holds itself ends', () => {
    expect(codeOf(() => flightDump(readPickle(bytes('\x80\x02]q\0h\0a.')).value))).toBeUndefined()
  })

  test('a declared length beyond the end is a cut, not an allocation', () => {
    expect(readPickle(bytes('\x80\x02X\xff\xff\xff\x7fabc')).truncatedAt).toBe(10)
  })

  test('a genuine dump cut at every byte gives what was whole, or a coded error', () => {
    const whole = flightDump(readPickle(genuine).value).entries
    for (let length = 0; length < genuine.length; length++) {
      const { value, truncatedAt } = readPickle(genuine.subarray(0, length))
      expect(truncatedAt).toBe(length)
      let entries: typeof whole = []
      const code = codeOf(() => {
        entries = flightDump(value).entries
      })
      if (code !== undefined) expect(code).toBe('PPC502')
      expect(entries.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, entries.length - 1)))
    }
  })

  test('any bytes: a value or a coded error', () => {
    const any = fc.uint8Array({ maxLength: 200 })
    const spoilt = fc
      .tuple(fc.nat(genuine.length - 1), fc.nat(255), fc.nat(genuine.length - 1), fc.nat(255))
      .map(([at, value, at2, value2]) => {
        const copy = Uint8Array.from(genuine)
        copy[at] = value
        copy[at2] = value2
        return copy
      })
    fc.assert(
      fc.property(fc.oneof(any, spoilt), (input) => {
        const code = codeOf(() => flightDump(readPickle(input).value))
        expect(code === undefined || /^PPC50[12]$/.test(code)).toBe(true)
      }),
      { seed: 7, numRuns: 3000 },
    )
  })
})
