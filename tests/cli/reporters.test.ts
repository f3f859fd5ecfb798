// Files appear whole or not at all, colour goes to terminals only, and JSON loses nothing.

import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Chalk } from 'chalk'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeFileAtomically } from '../../cli/atomic-file.ts'
import { paintFor } from '../../cli/color.ts'
import { openReporters } from '../../cli/reporters/index.ts'
import type { Report } from '../../cli/reporters/report.ts'
import { nearest } from '../../cli/suggest.ts'

const report: Report = {
  command: 'explore',
  exitCode: 0,
  data: { seed: 255n, states: 12 },
  text: (paint) => paint.red('twelve states'),
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('text is coloured on stdout and plain in a file', () => {
  const file = join(folder, 'report.txt')
  const emit = openReporters([
    { name: 'default', file: undefined },
    { name: 'default', file },
  ])
  let stdout = ''
  emit(report, {
    write: (text) => {
      stdout += text
    },
    paint: new Chalk({ level: 1 }),
  })
  expect(stdout).toBe('\u001b[31mtwelve states\u001b[39m\n')
  expect(readFileSync(file, 'utf8')).toBe('twelve states\n')
})

test('JSON keeps a 64-bit seed as text that --seed reads', () => {
  const file = join(folder, 'report.json')
  openReporters([{ name: 'json', file }])(report, { write: () => {}, paint: new Chalk() })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
    tool: 'ppcheck',
    command: 'explore',
    exitCode: 0,
    seed: '0xff',
    states: 12,
  })
})

test('two reporters in one file are refused', () => {
  const twice = [
    { name: 'json', file: 'a' },
    { name: 'default', file: 'a' },
  ] as const
  expect(() => openReporters(twice)).toThrow('two reporters write to file a')
})

test('a failed write leaves the old file and nothing beside it', () => {
  const file = join(folder, 'a')
  writeFileSync(file, 'old')
  const target = join(file, 'below-a-file')
  expect(() => writeFileAtomically(target, 'new')).toThrow('cannot write')
  expect(readFileSync(file, 'utf8')).toBe('old')
  expect(readdirSync(folder)).toEqual(['a'])
})

test('a link stays a link, and a device stays a device', () => {
  const file = join(folder, 'real')
  const link = join(folder, 'link')
  writeFileSync(file, 'old')
  chmodSync(file, 0o644)
  symlinkSync(file, link)
  writeFileAtomically(link, 'new')
  expect(lstatSync(link).isSymbolicLink()).toBe(true)
  expect(readFileSync(file, 'utf8')).toBe('new')
  writeFileAtomically('/dev/null', 'gone')
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true)
})

test('NO_COLOR and --no-color switch colour off, an empty NO_COLOR does not', () => {
  expect(paintFor(false, {}).level).toBe(0)
  expect(paintFor(true, { NO_COLOR: '1' }).level).toBe(0)
  expect(paintFor(true, { NO_COLOR: '' })).toBe(paintFor(true, {}))
})

test('a suggestion is near, or not made', () => {
  const known = ['explore', 'export', 'ladder']
  expect(nearest('expolre', known)).toBe('explore')
  expect(nearest('EXPORT', known)).toBe('export')
  expect(nearest('simulate', known)).toBeUndefined()
  expect(nearest('', known)).toBeUndefined()
})
