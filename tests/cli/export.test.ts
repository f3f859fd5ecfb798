// `ppcheck export` as a user meets it: bare text on stdout that other programs can read.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const example = fileURLToPath(
  new URL('../../docs/examples/second-subsystem.protocol.ts', import.meta.url),
)

const ppcheckExport = (...args: string[]) => {
  const { FORCE_COLOR: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'export', ...args], {
    encoding: 'utf8',
    env,
  })
  return { status, stdout, stderr }
}

describe('export', () => {
  test('mermaid is the default, of the last rank', () => {
    const { status, stdout, stderr } = ppcheckExport('--variant', 'capped', '--pp', '3')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^stateDiagram-v2\n {2}\[\*\] --> s0\n/)
    expect(stdout).toContain('launch draft (full graph)')
    const explicit = ['--format', 'mermaid', '--rank', '2']
    expect(ppcheckExport('--variant', 'capped', '--pp', '3', ...explicit).stdout).toBe(stdout)
  })

  test('a switch of the command line changes the picture', () => {
    const eager = ppcheckExport('--variant', 'capped', '--pp', '3', '--draft', 'eager').stdout
    expect(eager).toContain('launch draft')
    expect(eager).not.toContain('(full graph)')
  })

  test('xstate is the JSON of one machine', () => {
    const format = ['--format', 'xstate', '--rank', '0']
    const { stdout } = ppcheckExport('--variant', 'stabilized', '--pp', '4', ...format)
    expect(JSON.parse(stdout)).toMatchObject({ id: 'rank-0', initial: 'await-execute' })
  })

  test('tla is a module with its configuration', () => {
    const { stdout } = ppcheckExport('capped', '--pp', '2', '--steps', '1', '--format', 'tla')
    expect(stdout).toMatch(/^---- MODULE ppcheck_capped ----\n/)
    expect(stdout).toContain('\nSPECIFICATION Spec\n')
  })

  test('promela is the whole scenario, of so many steps', () => {
    const { stdout } = ppcheckExport('capped', '--pp', '3', '--steps', '2', '--format', 'promela')
    expect(stdout).toContain('active proctype rank_2_host() {')
  })

  test('a protocol file of the user', () => {
    const { status, stdout } = ppcheckExport(`${example}#mended`, '--rank', '1')
    expect(status).toBe(0)
    expect(stdout).toContain('post expert-load')
  })

  test.each([
    [
      ['--variant', 'capped', '--pp', '3', '--rank', '3'],
      'PPC101 rank must be an integer from 0 to 2 with pp 3, got 3 (--rank)\n',
    ],
    [
      ['--variant', 'capped', '--format', 'svg'],
      'PPC102 format must be one of mermaid, xstate, promela, tla, flight-recorder,' +
        ' got svg (--format)\n',
    ],
    [['capped', 'gated'], 'PPC107 one scenario is exported at a time, 2 are given\n'],
  ])('%s', (args, line) => {
    expect(ppcheckExport(...args)).toEqual({ status: 2, stdout: '', stderr: line })
  })
})
