// `ppcheck infer` as a user types it, with observations of a small pipeline.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ppcheck, temporaryFolder } from './run.ts'

const folder = temporaryFolder()
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test('assumptions, near misses and the next experiment', () => {
  const seen = [
    { variant: 'fixed-four-header64', pp: 3, outcome: 'wedge', watchedMinutes: 5 },
    { variant: 'stabilized', pp: 3, outcome: 'clean', watchedMinutes: 60 },
    { variant: 'gated', pp: 3, outcome: 'clean', watchedMinutes: 2 },
  ]
  const path = file('seen.json', JSON.stringify(seen))
  const { status, stdout } = ppcheck('infer', path, '--quiet')
  expect(status).toBe(0)
  expect(stdout).toContain('too short to bind')
  expect(stdout).toMatch(/reproduce all of it\n- resident \d/)
  expect(stdout).toMatch(/What to run next\n--variant \S+ --pp 3/)
}, 60_000)

test('what nothing explains ends with code 1', () => {
  const seen = [{ variant: 'stabilized', pp: 2, outcome: 'wedge', watchedMinutes: 5 }]
  const { status, stdout } = ppcheck('infer', file('odd.json', JSON.stringify(seen)), '--quiet')
  expect(status).toBe(1)
  expect(stdout).toContain('none of those tried')
}, 60_000)

test.each([
  ['no.json', undefined, 'PPC109'],
  ['text.json', 'wedge', 'PPC136'],
  ['empty.json', '[]', 'PPC136'],
  ['name.json', '[{"variant":"x","pp":2,"outcome":"wedge","watchedMinutes":1}]', 'PPC136'],
])('%s is refused', (name, text, code) => {
  const path = text === undefined ? join(folder, name) : file(name, text)
  const { status, stderr } = ppcheck('infer', path)
  expect(status).toBe(2)
  expect(stderr).toContain(code)
})
