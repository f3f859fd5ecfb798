// The built command line as a user meets it: a child process, its two streams and its exit code.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const ppcheck = (...args: string[]) => {
  const { FORCE_COLOR: _, ...environment } = process.env
  const options = { cwd: folder, encoding: 'utf8', env: environment } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { status, stdout, stderr }
}

describe('usage errors are one line on stderr and exit code 2', () => {
  test.each([
    [['doctro'], 'PPC103 unknown command "doctro" — did you mean doctor?'],
    [['--dbug', 'doctor'], 'PPC104 unknown option "--dbug" — did you mean --debug?'],
    [
      ['doctor', '--reporter', 'xunit'],
      'PPC106 unknown reporter "xunit" (--reporter) — did you mean junit?',
    ],
    [['doctor', 'now'], 'PPC105 too many arguments for doctor.'],
    [['doctor', '--reporter'], 'PPC105 option --reporter <name[=file]> argument missing'],
    [
      ['doctor', '--reporter', 'json', '--reporter', 'default'],
      'PPC107 two reporters write to stdout (--reporter)',
    ],
    [
      ['doctor', '--reporter', 'json=nowhere/a.json'],
      'PPC109 cannot write nowhere/a.json: no folder nowhere (--reporter) — mkdir -p nowhere',
    ],
    [['doctor', '--reporter', 'json=.'], 'PPC109 cannot write .: it is a folder (--reporter)'],
  ])('%s', (args, line) => {
    const { status, stdout, stderr } = ppcheck(...args)
    expect(stderr.startsWith(line), stderr).toBe(true)
    expect(stderr.match(/\n/g)).toHaveLength(1)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })

  test('a stack trace only with --debug', () => {
    expect(ppcheck('doctor', '--reporter', 'json=.', '--debug').stderr).toContain('\n    at ')
  })

  test('without a command: the help, and then what is wrong', () => {
    const { status, stdout, stderr } = ppcheck()
    expect(stderr).toContain('Usage: ppcheck')
    expect(stderr).toMatch(/\nPPC105 no command is given/)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })
})

describe('help and version', () => {
  test.each([[['--help']], [['help']], [['doctor', '--help']], [['help', 'init']]])(
    '%s',
    (args) => {
      const { status, stdout, stderr } = ppcheck(...args)
      expect(stdout).toContain('Usage: ppcheck')
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    },
  )

  test('the version is that of package.json', () => {
    const file = new URL('../../package.json', import.meta.url)
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
    expect(ppcheck('--version').stdout).toBe(`${version}\n`)
  })
})

describe('doctor', () => {
  test('ends with 0 whatever is missing, and tells a remedy for each missing thing', () => {
    const { status, stdout, stderr } = ppcheck('doctor', '--reporter', 'json')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ tool: 'ppcheck', command: 'doctor', exitCode: 0 })
    for (const probe of report.probes) {
      if (probe.available) expect(probe.found).toBeTruthy()
      else expect(probe.reason && probe.remedy).toBeTruthy()
    }
  })

  test('writes a report file whole, leaves nothing beside it, and never colours it', () => {
    const { status } = ppcheck('doctor', '--reporter', 'default=a.txt', '--reporter', 'json')
    expect(status).toBe(0)
    expect(readdirSync(folder)).toEqual(['a.txt'])
    const text = readFileSync(join(folder, 'a.txt'), 'utf8')
    expect(text).toMatch(/^ok +node/)
    expect(text).not.toContain('\u001b')
  })
})

describe('init', () => {
  const name = 'my-engine.protocol.ts'
  const check = `check it: npx ppcheck explore ./${name}\n`

  test('writes a protocol that explore runs, and that breaks and holds as its comments say', () => {
    expect(ppcheck('init')).toEqual({ status: 0, stdout: `wrote ${name}\n${check}`, stderr: '' })
    expect(readdirSync(folder)).toEqual([name])
    const explored = ppcheck('explore', `./${name}`, '--quiet')
    expect(explored.stdout).toContain('Hazard H2 extra-in-flight-batch')
    expect(explored.status, explored.stderr).toBe(3)
    expect(ppcheck('explore', `./${name}`, '--quiet', '--window', '3').status).toBe(0)
    expect(ppcheck('explore', `./${name}`, '--quiet', '--resident', '3').status).toBe(0)
  })

  test('does not overwrite unless told to', () => {
    const file = join(folder, name)
    writeFileSync(file, 'mine')
    const { status, stderr } = ppcheck('init')
    expect(status).toBe(2)
    expect(stderr).toBe(`PPC108 ${name} exists already — ppcheck init --force overwrites it\n`)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect(ppcheck('init', '--force').stdout).toBe(`replaced ${name}\n${check}`)
    expect(readFileSync(file, 'utf8')).toContain('export default')
  })
})
