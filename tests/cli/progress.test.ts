// Progress is throttled on both kinds of stream, and silent when asked to be.

import { expect, test } from 'vitest'
import { createProgress } from '../../cli/progress.ts'

const setUp = (stream: { isTTY?: boolean; columns?: number }, quiet = false) => {
  const written: string[] = []
  const clock = { ms: 0 }
  const progress = createProgress({
    quiet,
    stream: { ...stream, write: (text: string) => written.push(text) },
    nowMs: () => clock.ms,
  })
  return { written, clock, progress }
}

test('a live line is drawn at most ten times a second, and its words are not made in vain', () => {
  const { written, clock, progress } = setUp({ isTTY: true })
  let made = 0
  for (; clock.ms < 1000; clock.ms++) {
    progress.update(() => {
      made++
      return `at ${clock.ms}`
    })
  }
  expect(made).toBe(10)
  expect(written).toHaveLength(10)
  expect(written[1]).toBe('\r\u001b[2Kat 100')
})

test('a live line never wraps, and is removed at the end once', () => {
  const { written, progress } = setUp({ isTTY: true, columns: 10 })
  progress.update(() => 'a long line\nand another')
  progress.done()
  progress.done()
  expect(written).toEqual(['\r\u001b[2Ka long li', '\r\u001b[2K'])
})

test('without a terminal there is a line every five seconds, and none before', () => {
  const { written, clock, progress } = setUp({})
  for (; clock.ms <= 11_000; clock.ms += 10) progress.update(() => `at ${clock.ms}`)
  progress.done()
  expect(written).toEqual(['at 5000\n', 'at 10000\n'])
})

test('quiet is silent', () => {
  const { written, progress } = setUp({ isTTY: true }, true)
  progress.update(() => 'a line')
  progress.done()
  expect(written).toEqual([])
})

test('a note stays on both kinds of stream, on a line of its own, and not when quiet', () => {
  const live = setUp({ isTTY: true })
  live.progress.update(() => 'half way')
  live.progress.note('done in 1 s')
  live.progress.done()
  expect(live.written.slice(1)).toEqual(['\r\u001b[2Kdone in 1 s\n'])
  const plain = setUp({})
  plain.progress.note('done in 1 s')
  expect(plain.written).toEqual(['done in 1 s\n'])
  const quiet = setUp({}, true)
  quiet.progress.note('done in 1 s')
  expect(quiet.written).toEqual([])
})
