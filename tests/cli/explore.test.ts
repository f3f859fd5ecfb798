// Explore in detail: what chooses scenarios, the bytes of a report, and how it ends. The broad
// story of a verdict is told in verdicts.test.ts.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exitCodeOf } from '../../cli/verdict-text.ts'
import type { Verdict } from '../../sim/search/check.ts'
import type { PropertyId } from '../../spec/properties.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
  const files = {
    'list.protocol.ts': `
      import { fieldScenario } from 'ppcheck'
      export const one = fieldScenario('stabilized', { pp: 2 })
      export const two = [one, fieldScenario('capped', { pp: 3 })]
      export default two`,
    'rows.protocol.ts': `
      import { fieldScenario } from 'ppcheck'
      const workload = { choices: [{ mask: [true, false] }] }
      export default fieldScenario('stabilized', { pp: 2, workload })`,
    'function.protocol.ts': `
      import { fieldScenario } from 'ppcheck'
      const scenario = fieldScenario('capped', { pp: 2 })
      export default { ...scenario, protocol: { ...scenario.protocol, hook: () => 1 } }`,
    'parts.protocol.ts': `
      import { defineScenario } from 'ppcheck/spec'
      import { check } from 'ppcheck/sim'
      export default defineScenario(typeof check)`,
    'syntax.protocol.ts': 'export const a = 1\nexport default {{\n',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { FORCE_COLOR: _, ...env } = process.env
const ppcheck = (...args: string[]) => {
  const options = { cwd: folder, encoding: 'utf8', env } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { status, stdout, stderr }
}

/** Runs the replay line of a report as a shell does; only `npx ppcheck` is replaced. */
const paste = (stdout: string) => {
  const line = stdout.split('\n').find((text) => text.startsWith('npx ppcheck replay')) ?? ''
  const command = line.replace('npx ppcheck', `"${process.execPath}" "${main}"`)
  const options = { cwd: folder, encoding: 'utf8', env } as const
  return spawnSync('sh', ['-c', command], options)
}

const endOf = (stdout: string) =>
  stdout.slice(stdout.indexOf('Ranks over time'), stdout.indexOf('\nReplay\n'))

describe('the replay line repeats every option that the schedule depends on', () => {
  test.each([
    [3, ['capped', '--pp', '2', '--property', 'deadlock-freedom,P6', '--requests', '2']],
    [1, ['capped', '--pp', '2', '--faults', 'lost-rpc@1:0,throw', '--reduction', 'none']],
    [3, ['list.protocol.ts#two.2', '--resident', '1', '--window', '4', '--steps', '6']],
  ])('exit %i: %s', (code, args) => {
    const { status, stdout } = ppcheck('explore', ...args)
    expect(status).toBe(code)
    const again = paste(stdout)
    expect(again.stderr).toBe('')
    expect(again.status).toBe(code)
    expect(endOf(again.stdout)).toContain('Where each rank stands')
    expect(endOf(again.stdout)).toBe(endOf(stdout))
  })
})

describe('a file of several scenarios', () => {
  test('explores all of them in order; each replay line chooses its own', () => {
    const { status, stdout } = ppcheck('explore', 'list.protocol.ts', '--workers', '2')
    expect(status).toBe(3)
    expect(stdout.indexOf('stabilized: pp 2')).toBeLessThan(stdout.indexOf('capped: pp 3'))
    expect(stdout).toContain('list.protocol.ts#2\n')
    expect(paste(stdout).status).toBe(3)
    expect(ppcheck('explore', 'list.protocol.ts', '--workers', '1').stdout).toBe(stdout)
  })

  test('#name chooses one', () => {
    const { status, stdout } = ppcheck('explore', 'list.protocol.ts#one', '--window', '1')
    expect(status).toBe(0)
    expect(stdout).toContain('stabilized: pp 2, window 1')
  })
})

test('no time on stdout: it is on stderr, and --quiet leaves it out', () => {
  const args = ['explore', 'stabilized', '--pp', '2', '--reporter', 'json']
  const first = ppcheck(...args)
  const second = ppcheck(...args, '--quiet')
  expect(first.stdout).toBe(second.stdout)
  expect(first.stderr).toMatch(/^stabilized: \d+\.\d\d s\n$/)
  expect(second.stderr).toBe('')
})

test('five ranks fit in 100 columns, and what is left out of the table is said', () => {
  const { stdout } = ppcheck('explore', 'gloo-deferred', '--pp', '5')
  const tooLong = stdout.split('\n').filter((line) => [...line].length > 100)
  expect(tooLong.filter((line) => !line.startsWith('npx ppcheck'))).toEqual([])
  expect(stdout).toMatch(/\ncolumns t1 to t\d+ are left out; replay with --step/)
  // Each row starts at the same column as its head: the last head stands above the last cells.
  const lines = stdout.split('\n')
  const head = lines.findIndex((line) => line.startsWith('rank  t'))
  const at = lines[head].indexOf('wedge')
  for (const row of lines.slice(head + 1, head + 6)) expect(row[at]).toMatch(/[✗↻–]/)
})

test('--continue says what else breaks and what holds, up to each violation', () => {
  const { status, stdout } = ppcheck('explore', 'fixed-four', '--pp', '2', '--continue')
  expect(status).toBe(3)
  expect(stdout).toMatch(/\nVIOLATED P1 .*\n(.*\n)*VIOLATED P11 /)
  expect(stdout).toMatch(/\nHOLDS {4}P2 P3 P4 P5 P6 P7 P8 P9 P10 P12\n/)
  expect(stdout).toContain('scope    exhaustive — any run length, up to each violation\n')
  expect(stdout).toMatch(/\nHow P11 breaks \(\d+ choices?, /)
})

test('a time limit ends with a report that says so', () => {
  const args = ['explore', 'stabilized', '--pp', '5', '--reduction', 'none', '--time-limit', '1s']
  const { status, stdout } = ppcheck(...args, '--require', 'exhaustive')
  expect(status).toBe(5)
  expect(stdout).toContain('stopped  by --time-limit; this report is partial')
  expect(stdout).toContain('bounded: stopped after')
})

describe('bad files and options for them are one line', () => {
  test.each([
    ['list.protocol.ts#3', [], 'PPC111 list.protocol.ts#3: the list has 2 entries'],
    ['list.protocol.ts#tow', [], 'PPC111 list.protocol.ts has no export tow'],
    ['function.protocol.ts', [], 'PPC111 function.protocol.ts: the protocol is not plain data'],
    ['parts.protocol.ts', [], 'PPC202 parts.protocol.ts: a scenario must be an object'],
    ['syntax.protocol.ts', [], 'PPC111 syntax.protocol.ts does not load: ParseError'],
    ['list.protocol.ts#one', ['--pp', '1'], 'PPC101 a broadcast needs at least two ranks'],
    ['list.protocol.ts#one', ['--draft', 'eager'], 'PPC107 --draft is a switch of the built-in'],
    ['rows.protocol.ts', ['--requests', '3'], 'PPC107 3 requests, but the file has a mask of 2'],
    ['list.protocol.ts', ['--checkpoint', 'a'], 'PPC107 a checkpoint belongs to one scenario'],
    ['capped', ['--pp', '3', '--faults', 'throw@9'], 'PPC202 faults: rank 9 does not exist'],
    ['capped', ['--save', 'none/a'], 'PPC109 cannot write none/a: no folder none (--save)'],
  ])('%s %s', (file, more, line) => {
    const { status, stdout, stderr } = ppcheck('explore', file, ...more)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr.startsWith(line), stderr).toBe(true)
    expect(stderr.match(/\n/g)).toHaveLength(1)
  })
})

describe('exit codes', () => {
  const verdict = (outcome: Verdict['outcome'], ...broken: PropertyId[]) =>
    ({
      outcome,
      counterexamples: broken.map((property) => ({ property })),
    }) as unknown as Verdict
  const holds = verdict('holds')

  test.each([
    ['all hold', [holds], 0],
    ['a deadlock', [holds, verdict('violated', 'P1')], 3],
    ['left-overs at idle', [verdict('violated', 'P10')], 3],
    ['a livelock', [verdict('violated', 'P6')], 4],
    ['any other', [verdict('violated', 'P3')], 1],
    ['a deadlock outweighs the others', [verdict('violated', 'P2'), verdict('violated', 'P1')], 3],
    ['a livelock outweighs the rest', [verdict('violated', 'P2', 'P6')], 4],
    ['a violation outweighs a budget', [verdict('inconclusive'), verdict('violated', 'P2')], 1],
    ['a budget', [holds, verdict('inconclusive')], 5],
  ])('%s', (_name, verdicts, code) => {
    expect(exitCodeOf(verdicts, true)).toBe(code)
  })

  test('a budget is an error only when asked', () => {
    expect(exitCodeOf([verdict('inconclusive')], false)).toBe(0)
  })
})
