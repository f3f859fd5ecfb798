// The commands that give verdicts, as a user meets them: the built program, its streams, its codes.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const examples = fileURLToPath(new URL('../../docs/examples/', import.meta.url))

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const { FORCE_COLOR: _, ...env } = process.env
const ppcheck = (...args: string[]) => {
  const options = { cwd: folder, encoding: 'utf8', env } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { status, stdout, stderr }
}

const capped = ['explore', '--variant', 'capped', '--pp', '3', '--resident', '2']

describe('explore', () => {
  test('tells a wedge: story, cycle, table, replay line, hazard; exit 3; equal bytes twice', () => {
    const { status, stdout } = ppcheck(...capped)
    expect(status).toBe(3)
    for (const part of [
      'seed     1',
      'VIOLATED P1 deadlock-freedom',
      'and so the circle closes',
      'Wait-for cycle',
      'Ranks over time',
      'Where each rank stands',
      'npx ppcheck replay',
      'Hazard H5 draft-graph-stall',
    ]) {
      expect(stdout).toContain(part)
    }
    expect(ppcheck(...capped, '--workers', '2').stdout).toBe(stdout)
    for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(102)
  })

  test('the replay line, typed as printed, gives the same wedge', () => {
    const { stdout } = ppcheck(...capped)
    const line = stdout.split('\n').find((text) => text.startsWith('npx ppcheck replay')) ?? ''
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2])
    const replayed = ppcheck(...words.slice(2))
    expect(replayed.status).toBe(3)
    const partOf = (text: string) => text.slice(text.indexOf('Wait-for cycle'))
    const cut = (text: string) => partOf(text).split('\nReplay\n')[0]
    expect(cut(replayed.stdout)).toBe(cut(stdout))
  })

  test('what holds says its scope, and ends with 0', () => {
    const { status, stdout } = ppcheck('explore', 'stabilized', '--pp', '3')
    expect({ status }).toEqual({ status: 0 })
    expect(stdout).toContain('HOLDS')
    expect(stdout).toContain('exhaustive — any run length')
    const bounded = ppcheck('explore', 'stabilized', '--pp', '3', '--steps', '4').stdout
    expect(bounded).toContain('bounded to 4 steps')
  })

  test('a budget is never an exhaustive verdict', () => {
    const small = [
      'explore',
      'capped',
      '--pp',
      '4',
      '--draft',
      'eager',
      '--header-check',
      'consume',
    ]
    const budget = [...small, '--max-states', '500']
    const { status, stdout } = ppcheck(...budget)
    expect(status).toBe(0)
    expect(stdout).toMatch(/UNDECIDED[\s\S]*bounded: state budget reached/)
    expect(ppcheck(...budget, '--require', 'exhaustive').status).toBe(5)
  })

  test('the two searches agree on a bounded run', () => {
    const args = ['explore', 'capped', '--pp', '2', '--window', '1', '--steps', '1']
    const reduced = ppcheck(...args)
    const full = ppcheck(...args, '--reduction', 'none')
    expect(full.status).toBe(reduced.status)
    expect(full.stdout).toContain('reduction none')
  })

  test('json holds what the text says', () => {
    const { stdout, status } = ppcheck(...capped, '--reporter', 'json')
    const { verdicts, exitCode } = JSON.parse(stdout)
    expect(exitCode).toBe(status)
    expect(verdicts[0].outcome).toBe('violated')
    expect(verdicts[0].counterexamples[0].cycle.length).toBeGreaterThan(2)
  })

  test('Ctrl-C gives a partial report and 130, and leaves a checkpoint to go on from', async () => {
    const args = ['explore', 'capped', '--pp', '7', '--draft', 'eager', '--header-check', 'consume']
    const file = join(folder, 'search.checkpoint')
    const child = spawn(process.execPath, [main, ...args, '--checkpoint', file], {
      cwd: folder,
      env,
    })
    let stdout = ''
    child.stdout.on('data', (data) => {
      stdout += data
    })
    await new Promise((resolve) => setTimeout(resolve, 2500))
    child.kill('SIGINT')
    const status = await new Promise((resolve) => child.on('close', resolve))
    expect(status).toBe(130)
    expect(stdout).toContain('bounded: stopped after')
    expect(existsSync(file)).toBe(true)
    const resumed = ppcheck(...args, '--resume', file, '--max-states', '1')
    expect(resumed.stdout).toContain('bounded: state budget reached')
    const foreign = ppcheck('explore', 'stabilized', '--resume', file)
    expect(foreign.stderr).toMatch(/^PPC304 /)
  })
})

describe("a protocol file of one's own", () => {
  test('works like a built-in variant, before and after', () => {
    const before = ppcheck('explore', join(examples, 'missing-sender.protocol.ts'))
    expect(before.status).toBe(3)
    expect(before.stdout).toContain('VIOLATED P')
    const after = ppcheck('explore', `${join(examples, 'missing-sender.protocol.ts')}#mended`)
    expect({ status: after.status, holds: after.stdout.includes('HOLDS') }).toEqual({
      status: 0,
      holds: true,
    })
  })

  test('a second subsystem contends for places until its order is kept', () => {
    const file = join(examples, 'second-subsystem.protocol.ts')
    expect(ppcheck('explore', file).status).toBe(3)
    expect(ppcheck('explore', `${file}#mended`).status).toBe(0)
  })

  test('a typo in a key is one line that names it', () => {
    const file = join(folder, 'typo.protocol.ts')
    writeFileSync(
      file,
      `import { defineScenario, fieldScenario } from 'ppcheck'
       const { protocol } = fieldScenario('capped', { pp: 2 })
       export default defineScenario({ protocol, topology: { pp: 2, windw: 2 } })`,
    )
    const { status, stdout, stderr } = ppcheck('explore', file)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^PPC202 [^\n]*windw[^\n]*\n$/)
  })

  test('a file that throws, exports nothing or is no scenario is one line', () => {
    const cases = { 'throw new Error("no")': 'PPC111', 'export const a = 1': 'PPC111' }
    for (const [text, code] of Object.entries(cases)) {
      writeFileSync(join(folder, 'bad.ts'), text)
      const { status, stderr } = ppcheck('explore', './bad.ts')
      expect({ status, lines: stderr.split('\n').length }).toEqual({ status: 2, lines: 2 })
      expect(stderr.startsWith(code), stderr).toBe(true)
    }
  })
})

describe('bad input is one coded line and exit code 2', () => {
  test.each([
    [['explore', '--variant', 'cappd'], 'PPC110'],
    [['explore', '--variant', 'capped', '--window', '0'], 'PPC101'],
    [['explore', '--variant', 'capped', '--pp', '1'], 'PPC101'],
    [['explore', '--variant', 'capped', '--memory', '10'], 'PPC101'],
    [['explore', '--variant', 'capped', '--workers', '0'], 'PPC101'],
    [['explore', '--variant', 'capped', '--faults', 'gremlin'], 'PPC110'],
    [['explore', '--variant', 'capped', '--property', 'P99'], 'PPC110'],
    [['explore'], 'PPC105'],
    [['explore', './none.protocol.ts'], 'PPC109'],
    [['replay', './none.pptrace.ndjson'], 'PPC109'],
    [['replay', 'pp1:deadbeef:s:0', '--variant', 'capped'], 'PPC304'],
    [['replay', 'pp9:deadbeef:s:0', '--variant', 'capped'], 'PPC304'],
    [['replay', 'pp1:deadbeef', '--variant', 'capped'], 'PPC301'],
    [['ladder', '--observed', 'wedge'], 'PPC102'],
    [['ladder', '--observed', 'wedge,cleen'], 'PPC102'],
  ])('%s', (args, code) => {
    const { status, stdout, stderr } = ppcheck(...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr.startsWith(`${code} `), stderr).toBe(true)
    expect(stderr.match(/\n/g)).toHaveLength(1)
  })
})

describe('traces', () => {
  test('a saved trace replays without any option, and damage is told', () => {
    const file = join(folder, 'wedge.pptrace.ndjson')
    ppcheck(...capped, '--save', file)
    const { status, stdout } = ppcheck('replay', file, '--step')
    expect(status).toBe(3)
    expect(stdout).toContain('XState and the tables agree on every one')
    expect(stdout).toMatch(/\n {4}1 {2}engine dispatches a step/)
    const text = readFileSync(file, 'utf8')
    const damage = {
      'not json': 'PPC303',
      [text.replace('"version":1', '"version":99')]: 'PPC303',
      [text.slice(0, 200)]: 'PPC303',
      [text.replace('"pp":3', '"pp":4')]: 'PPC304',
    }
    for (const [bad, code] of Object.entries(damage)) {
      writeFileSync(file, bad)
      const result = ppcheck('replay', file)
      expect(result.stderr.startsWith(code), result.stderr).toBe(true)
      expect(result.status).toBe(2)
    }
  })
})

describe('ladder', () => {
  test('refutes rung 3, confirms rung 5, and is the same for any number of workers', () => {
    const args = ['ladder', '--pp', '3', '--no-timing', '--launch-order', 'free']
    const { status, stdout } = ppcheck(...args, '--workers', '1')
    expect(status).toBe(0)
    const rungs = stdout.split('\n').filter((line) => /^[0-5] {5}[a-z]/.test(line))
    expect(rungs.map((line) => /HOLDS|VIOLATED/.exec(line)?.[0])).toEqual([
      ...Array<string>(5).fill('VIOLATED'),
      'HOLDS',
    ])
    expect(stdout).toMatch(/Consistent with all observations:\n- resident 1, metadata none/)
    expect(ppcheck(...args, '--workers', '2').stdout).toBe(stdout)
  })

  test('other observations are consistent with other assumptions', () => {
    const observed = ['--observed', 'wedge,clean,clean,clean,clean,clean']
    const { stdout } = ppcheck('ladder', '--pp', '3', '--no-timing', ...observed)
    const consistent = /Consistent with all observations:\n(.*)/s.exec(stdout)?.[1] ?? ''
    expect(consistent).toContain('metadata rendezvous')
    expect(consistent).not.toContain('metadata none, launch order free')
  })
})

test('export draws the machine that is explored', () => {
  const { stdout } = ppcheck('export', '--variant', 'capped', '--pp', '3', '--rank', '1')
  expect(stdout).toMatch(/^stateDiagram-v2\n/)
  expect(stdout).toContain('check header')
  const definition = ppcheck('export', '--variant', 'capped', '--format', 'xstate').stdout
  expect(JSON.parse(definition).id).toBe('rank-7')
})
