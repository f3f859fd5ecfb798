// The table of codes, and what the process ends with for each kind of error.

import { expect, test } from 'vitest'
import { exitCodeOf } from '../../cli/exit-codes.ts'
import { assert, errorCodes, fail, InternalError, PpcheckError } from '../../spec/error.ts'

test('codes are PPC1xx to PPC5xx, in order, with different sentences', () => {
  const codes = Object.keys(errorCodes)
  const sentences = Object.values(errorCodes)
  for (const code of codes) expect(code).toMatch(/^PPC[1-5]\d\d$/)
  expect(codes).toEqual([...codes].sort())
  expect(new Set(sentences).size).toBe(sentences.length)
})

test('fail throws what it is given', () => {
  const attempt = () => fail('PPC101', 'window must be an integer ≥ 1, got 0 (--window)', 'try 1')
  expect(attempt).toThrow(PpcheckError)
  expect(attempt).toThrow(expect.objectContaining({ code: 'PPC101', hint: 'try 1' }))
})

test('assert is silent or throws an internal error', () => {
  expect(() => assert(true, 'ranks are 0-based')).not.toThrow()
  expect(() => assert(false, 'ranks are 0-based')).toThrow(InternalError)
})

test('exit codes follow from the kind of error', () => {
  const cases = [
    [new PpcheckError('PPC101', ''), 2],
    [new PpcheckError('PPC201', ''), 2],
    [new PpcheckError('PPC301', ''), 2],
    [new PpcheckError('PPC302', ''), 6],
    [new PpcheckError('PPC305', ''), 6],
    [new PpcheckError('PPC401', ''), 7],
    [new InternalError(''), 70],
    [new TypeError(''), 70],
  ] as const
  for (const [error, exitCode] of cases) expect(exitCodeOf(error)).toBe(exitCode)
})
