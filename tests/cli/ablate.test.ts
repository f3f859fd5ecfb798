// `ppcheck ablate` as a process.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ppcheck, temporaryFolder } from './run.ts'

const example = fileURLToPath(
  new URL('../../docs/examples/relay-fixes.ablation.ts', import.meta.url),
)

test("the report's lattice: minimal sets, and what a missing fix leaves open", () => {
  const { status, stdout } = ppcheck('ablate', '--pp', '3')
  expect(status).toBe(0)
  expect(stdout).toContain('64 subsets of 6')
  expect(stdout).toContain('fixed-schedule + header64 + launch-order')
  expect(stdout).toMatch(/\ncap +nothing\n/)
  expect(stdout.match(/●/g)?.length).toBeGreaterThan(10)
  expect(ppcheck('ablate', '--pp', '3', '--workers', '1').stdout).toBe(stdout)
})

describe('a file of the user', () => {
  test('is ablated the same way', () => {
    const { status, stdout } = ppcheck('ablate', example, '--reporter', 'json')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      minimal: [['always-post'], ['gate-receive']],
      harmful: [],
    })
  })

  const folder = temporaryFolder()
  const file = (text: string): string => {
    const path = join(folder, `file-${text.length}.ts`)
    writeFileSync(path, text)
    return path
  }

  test.each([
    ['export const x = 1', 'PPC111'],
    ['export default { name: "x" }', 'PPC111'],
    ['export default {', 'PPC111'],
  ])('%s', (text, code) => {
    const { status, stderr } = ppcheck('ablate', file(text))
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^${code} [^\\n]*\\n$`))
  })
})

test.each([
  [['ablate', 'nowhere.ts'], 'PPC109'],
  [['ablate', example, '--resident', '3'], 'PPC107'],
  [['ablate', '--pp', '0'], 'PPC101'],
])('%j', (args, code) => {
  const { status, stderr } = ppcheck(...args)
  expect(status).toBe(2)
  expect(stderr).toMatch(new RegExp(`^${code} [^\\n]*\\n$`))
})
