// `ppcheck museum` as a user types it, and the page that it writes.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ppcheck, temporaryFolder } from './run.ts'

const folder = temporaryFolder()
const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

describe('ppcheck museum', () => {
  test('one case tells its story, and its replay line replays', () => {
    const { status, stdout } = ppcheck('museum', 'vllm-46994', '--quiet')
    expect(status).toBe(0)
    expect(stdout).toContain('https://github.com/vllm-project/vllm/pull/46994')
    expect(stdout).toContain('before: natural width')
    const line = /npx ppcheck (replay '([^']+)' (\S+))/.exec(stdout)
    expect(line).not.toBeNull()
    const replayed = ppcheck('replay', line?.[2] ?? '', line?.[3] ?? '', '--quiet')
    expect(replayed.stdout).toContain('P2')
    expect(replayed.status).toBe(1)
  })

  test('--knob and --grep choose, and json says what was expected', () => {
    const { status, stdout } = ppcheck('museum', '--knob', 'dtype', '--reporter', 'json', '--quiet')
    expect(status).toBe(0)
    const { cases, unexpected } = JSON.parse(stdout)
    expect(unexpected).toEqual([])
    expect(cases.length).toBeGreaterThan(0)
    for (const each of cases) expect(each.knobs).toContain('dtype')
    const grep = ppcheck('museum', '--grep', 'Mooncake', '--no-timing', '--quiet')
    expect(grep.status).toBe(0)
  })

  test('an exhibit can be explored with options of its own', () => {
    const { status, stdout } = ppcheck('explore', 'museum:vllm-46994.2', '--pp', '3', '--quiet')
    expect(status).toBe(0)
    expect(stdout).toContain('pp 3')
  })

  test.each([
    [['museum', 'vllm-1'], 'PPC135'],
    [['museum', '--grep', 'no such words'], 'PPC135'],
    [['explore', 'museum:vllm-46994.9'], 'PPC135'],
    [['explore', 'museum:vllm-46994', '--draft', 'eager'], 'PPC107'],
  ])('%j is refused with %s', (args, code) => {
    const { status, stderr } = ppcheck(...args)
    expect(status).toBe(2)
    expect(stderr).toContain(code)
  })
})

test('docs/museum.md is what the sources make of it', () => {
  const page = join(folder, 'museum.md')
  expect(ppcheck('museum', '--page', page, '--quiet').status).toBe(0)
  const kept = readFileSync(inRoot('docs/museum.md'), 'utf8')
  expect(kept === readFileSync(page, 'utf8'), 'npx ppcheck museum --page docs/museum.md').toBe(true)
}, 120_000)
