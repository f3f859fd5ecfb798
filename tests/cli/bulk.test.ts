// `ppcheck explore --mode random --bulk` as a process.

import { describe, expect, test } from 'vitest'
import { ppcheck } from './run.ts'

const bulk = ['explore', '--mode', 'random', '--bulk']

describe('a clean run', () => {
  const args = [...bulk, 'stabilized', '--pp', '3', '--steps', '3', '--runs', '3000']
  const { status, stdout } = ppcheck(...args, '--check-determinism')

  test('says how many schedules there were and what they exclude', () => {
    expect(status).toBe(0)
    expect(stdout).toContain('stabilized: pp 3, window 3, 3 steps, every interleaving')
    expect(stdout).toContain('scope    sampled: 3 000 schedules; a failure in more than 0.10 %')
  })

  test('says what was reached and what never was', () => {
    expect(stdout).toMatch(
      /\nreached {2}\d+ of \d+ transitions of machines, \d+ of \d+ operations, 1 of 1 batches\n/,
    )
    expect(stdout).toMatch(/\nnever {4}a mask is empty; a rank raises; /)
  })

  test('prints equal bytes with any number of workers', () => {
    for (const workers of ['1', '3'])
      expect(ppcheck(...args, '--workers', workers).stdout).toBe(stdout)
  })

  test('in shards: together they make all the runs', () => {
    const made = ['1/3', '2/3', '3/3'].map((shard) => {
      const { sampled } = JSON.parse(
        ppcheck(...args, '--shard', shard, '--reporter', 'json').stdout,
      )
      return sampled[0] as { scope: { schedules: number }; events: number }
    })
    const whole = JSON.parse(ppcheck(...args, '--reporter', 'json').stdout).sampled[0]
    const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0)
    expect(sum(made.map(({ scope }) => scope.schedules))).toBe(3_000)
    expect(sum(made.map(({ events }) => events))).toBe(whole.events)
  })
})

describe('a violation', () => {
  const args = ['--variant', 'gloo-deferred', '--pp', '3', '--seed', '2']
  const { status, stdout } = ppcheck(...bulk, ...args)

  test('is explained, and replays through XState', () => {
    expect(status).toBe(3)
    expect(stdout).toContain('Hazard H5')
    const [, line] = /\nnpx ppcheck (replay .*)\n/.exec(stdout) ?? []
    expect(ppcheck(...(line ?? '').replaceAll("'", '').split(' ')).status).toBe(3)
  })

  test('is the same with any number of workers', () => {
    for (const workers of ['1', '3']) {
      expect(ppcheck(...bulk, ...args, '--workers', workers).stdout).toBe(stdout)
    }
  })
})

test.each([
  [['--shard', '0/2'], 'PPC101'],
  [['--shard', '3/2'], 'PPC101'],
  [['--shard', 'half'], 'PPC101'],
  [['--runs', '0'], 'PPC101'],
  [['--seed', 'dice'], 'PPC101'],
  [['--path', '0/1'], 'PPC107'],
  [['--mode', 'exhaustive'], 'PPC107'],
])('%j is refused in one line with %s', (more, code) => {
  const words = more[0] === '--mode' ? ['explore', '--bulk'] : bulk
  const { status, stdout, stderr } = ppcheck(...words, 'stabilized', ...more)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(new RegExp(`^${code} .*\n$`))
})

test('a shard of what is not in bulk is refused', () => {
  const { status, stderr } = ppcheck('explore', 'stabilized', '--shard', '1/2')
  expect({ status, code: stderr.slice(0, 6) }).toEqual({ status: 2, code: 'PPC107' })
})
