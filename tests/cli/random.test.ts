// `ppcheck explore --mode random` as a process.

import { describe, expect, test } from 'vitest'
import { ppcheck } from './run.ts'

const random = ['explore', '--mode', 'random']

test('a clean run says how much it excludes, and what it reached', () => {
  const { status, stdout } = ppcheck(...random, 'stabilized', '--pp', '3', '--runs', '2000')
  expect(status).toBe(0)
  expect(stdout).toMatch(/^seed {5}1\n/)
  expect(stdout).toMatch(/scope {4}sampled: 2 000 schedules, \d+ of them different; a failure in/)
  expect(stdout).toContain('more than 0.15 %')
  expect(stdout).toMatch(/\nreached {2}\d+ of \d+ operations/)
  const again = ppcheck(...random, 'stabilized', '--pp', '3', '--runs', '2000', '--workers', '1')
  expect(again.stdout).toBe(stdout)
})

describe('a violation', () => {
  const found = ppcheck(...random, '--variant', 'upstream-fork', '--runs', '2000', '--seed', '1')

  test('is shrunken, confirmed and explained', () => {
    expect(found.status).toBe(3)
    expect(found.stdout).toMatch(/\nsmallest 2 ranks, [12] steps?, .* [0-3] deviations? from/)
    expect(found.stdout).toMatch(/\nconfirm {2}the exhaustive search of .* breaks it too\n/)
    expect(found.stdout).toContain('Hazard H1')
  })

  test('is replayed by each of its two lines', () => {
    const [, replayed] = /\nnpx ppcheck (replay .*)\n/.exec(found.stdout) ?? []
    const words = (replayed ?? '').replaceAll("'", '').split(' ')
    expect(ppcheck(...words).status).toBe(3)
    const [, again] = /\nnpx ppcheck (explore .*--path .*)\n/.exec(found.stdout) ?? []
    const { status, stdout } = ppcheck(...(again ?? '').split(' '))
    expect(status).toBe(3)
    expect(/\nsmallest .*\n/.exec(stdout)?.[0]).toBe(/\nsmallest .*\n/.exec(found.stdout)?.[0])
  })

  test('is data as well', () => {
    const args = ['--variant', 'capped', '--pp', '3', '--reporter', 'json']
    const { sampled } = JSON.parse(ppcheck(...random, ...args).stdout)
    expect(sampled[0]).toMatchObject({ outcome: 'violated', failure: { confirmed: 'violated' } })
  })
})

test('both: the sample and the proof', () => {
  const { status, stdout } = ppcheck(
    ...['explore', '--mode', 'both', 'stabilized', '--pp', '3', '--runs', '100'],
  )
  expect(status).toBe(0)
  expect(stdout).toContain('scope    sampled: 100 schedules')
  expect(stdout).toContain('scope    exhaustive — any run length')
})

test('a time limit ends the run with what it has', () => {
  const args = ['stabilized', '--runs', '1000000000', '--time-limit', '1s', '--pp', '3']
  const { status, stdout } = ppcheck(...random, ...args)
  expect(status).toBe(0)
  expect(stdout).toMatch(/scope {4}sampled: [\d ]+ schedules/)
  expect(stdout).not.toContain('1 000 000 000 schedules')
})

test('determinism can be asked for', () => {
  const args = ['fixed-four-header64', '--pp', '3', '--runs', '600', '--check-determinism']
  expect(ppcheck(...random, ...args).status).toBe(3)
})

test.each([
  [[...random, 'stabilized', '--runs', '0'], 'PPC101'],
  [[...random, 'stabilized', '--seed', 'x'], 'PPC101'],
  [[...random, 'stabilized', '--path', '0/0'], 'PPC121'],
  [[...random, 'stabilized', '--path', 'here'], 'PPC121'],
  [[...random, 'stabilized', '--checkpoint', 'file'], 'PPC107'],
  [['explore', 'stabilized', '--runs', '5'], 'PPC107'],
  [['explore', 'stabilized', '--mode', 'lucky'], 'PPC102'],
])('%j', (args, code) => {
  const { status, stderr } = ppcheck(...args)
  expect(status).toBe(2)
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`^${code} `))
})
