// Rules of the sources that a compiler does not know: no clock and no chance in the pure folders,
// printing in one place only, names that say something, lines that fit.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

const sourcesOf = (...folders: string[]): { file: string; text: string }[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mts|mjs)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ file: relative(root, path), text: readFileSync(path, 'utf8') })),
  )

const all = sourcesOf('spec', 'sim', 'backend-cuda', 'cli', 'tests')

/** The code without its comments and the words in plain strings; both may speak of anything. */
const codeOf = (text: string): string =>
  text
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/\/\/.*$/gm, '')

/** Places where a pattern occurs, as `file:line`. */
const placesOf = (
  pattern: RegExp,
  sources: readonly { file: string; text: string }[],
  view: (text: string) => string = codeOf,
): string[] =>
  sources.flatMap(({ file, text }) =>
    view(text)
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
      ),
  )

describe('spec/ and sim/ are pure', () => {
  test.each([
    ['the clock', /\bDate\b|\bperformance\b|\bhrtime\b/],
    ['chance', /\bMath\.random\b|\bcrypto\b/],
    ['timers', /\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/],
    ['promises', /\bPromise\b|\basync\b|\bawait\b/],
    ['the process', /\bprocess\.|\bglobalThis\b/],
    ['locale-dependent order', /\blocaleCompare\b|\bIntl\b|\btoLocale\w+/],
  ])('no %s', (_name, pattern) => {
    expect(placesOf(pattern, sourcesOf('spec', 'sim'))).toEqual([])
  })

  test('spec/ imports only xstate and zod, sim/ nothing of node', () => {
    const imports = (folder: string): string[] =>
      sourcesOf(folder).flatMap(({ text }) =>
        [...text.matchAll(/\bfrom '([^'.][^']*)'/g)].map((match) => match[1]),
      )
    const allowed = /^(xstate|zod)(\/|$)/
    expect(imports('spec').filter((name) => !allowed.test(name))).toEqual([])
    expect(imports('sim').filter((name) => name.startsWith('node:'))).toEqual([])
  })
})

test('only cli/ and the scripts beside the tests print', () => {
  const sources = all.filter(({ file }) => !/^(cli\/|tests\/[^/]+\.mjs$)/.test(file))
  expect(placesOf(/\bconsole\b/, sources)).toEqual([])
})

test('no file is named after nothing', () => {
  const empty = ['utils.ts', 'types.ts', 'helpers.ts', 'util.ts', 'common.ts', 'misc.ts']
  expect(all.map(({ file }) => file).filter((file) => empty.includes(basename(file)))).toEqual([])
})

test('file names are kebab-case', () => {
  const odd = all.filter(({ file }) => !/^[a-z0-9]+([-.][a-z0-9]+)*$/.test(basename(file)))
  expect(odd.map(({ file }) => file)).toEqual([])
})

test('every file opens with a comment that says what it is', () => {
  const silent = all.filter(({ text }) => !/^(#!.*\n)?(\/\/ |\/\*\*)/.test(text))
  expect(silent.map(({ file }) => file)).toEqual([])
})

test('no line is longer than 100 columns', () => {
  // The formatter does not break comments and strings, so it does not enforce this alone.
  expect(placesOf(/^.{101,}$/u, all, (text) => text)).toEqual([])
})

test('no reminder is left behind, and no test is left out or alone', () => {
  // Written in pieces, so that this file does not find itself.
  const reminder = new RegExp(['TO', 'DO|FIX', 'ME|X', 'XX'].join(''))
  expect(placesOf(reminder, all, (text) => text)).toEqual([])
  expect(placesOf(/\b(test|describe|it)\.only\(/, all)).toEqual([])
})

test('the rules see what they should', () => {
  const text = "const a = 'Promise' // await\n/* Date\nDate */ const b = Date.now()"
  const found = placesOf(/\bDate\b|\bPromise\b|\bawait\b/, [{ file: 'a.ts', text }])
  expect(found).toEqual(['a.ts:3 const b = Date.now()'])
})
