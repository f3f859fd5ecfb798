// Replay in detail: a trace is compared with what it recorded, and damage of any kind is one line.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readTrace } from '../../cli/trace-file.ts'
import { decodeSchedule } from '../../sim/schedule.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

let folder = ''
let whole = ''
let schedule = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'ppcheck-test-'))
  const { status } = ppcheck('explore', 'capped', '--pp', '2', '--save', 'wedge.pptrace.ndjson')
  expect(status).toBe(3)
  whole = readFileSync(join(folder, 'wedge.pptrace.ndjson'), 'utf8')
  schedule = JSON.parse(whole.split('\n')[0]).schedule
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { FORCE_COLOR: _, ...env } = process.env
const ppcheck = (...args: string[]) => {
  const options = { cwd: folder, encoding: 'utf8', env } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { status, stdout, stderr }
}

const replayed = (text: string, ...more: string[]) => {
  writeFileSync(join(folder, 'changed.pptrace.ndjson'), text)
  return ppcheck('replay', 'changed.pptrace.ndjson', ...more)
}

test('a trace holds all: who wrote it, the scenario, the seed, the schedule, the events', () => {
  const [head, ...events] = whole.trimEnd().split('\n')
  const { tool, format, version, scenario, seed, violates, events: count } = JSON.parse(head)
  expect(tool).toMatch(/^ppcheck \d+\.\d+\.\d+/)
  expect({ format, version, seed, violates }).toEqual({
    format: 'pptrace',
    version: 1,
    seed: 1,
    violates: ['P1'],
  })
  expect(scenario.topology.pp).toBe(2)
  expect(events).toHaveLength(count)
  expect(events.map((line) => JSON.parse(line).number)).toEqual(events.map((_, at) => at + 1))
})

test('a trace replays alone, twice with equal bytes, and every event is listed on request', () => {
  const plain = replayed(whole)
  expect({ status: plain.status, stderr: plain.stderr }).toEqual({ status: 3, stderr: '' })
  expect(replayed(whole).stdout).toBe(plain.stdout)
  const listed = replayed(whole, '--step').stdout
  const events = whole.trimEnd().split('\n').slice(1)
  expect(listed.match(/^ +\d+ {2}/gm)).toHaveLength(events.length)
})

test('json holds the events and the findings', () => {
  const { stdout } = replayed(whole, '--reporter', 'json')
  const { exitCode, findings, events, differences } = JSON.parse(stdout)
  expect({ exitCode, differences }).toEqual({ exitCode: 3, differences: [] })
  expect(findings[0].property).toBe('P1')
  expect(events).toHaveLength(whole.trimEnd().split('\n').length - 1)
})

describe('a run that is not the recorded one ends with 6 and says where it differs', () => {
  test('another violation', () => {
    const { status, stdout } = replayed(whole.replace('"violates":["P1"]', '"violates":["P8"]'))
    expect(status).toBe(6)
    expect(stdout).toContain('the recorded run broke P8; this one does not')
  })

  test('another event', () => {
    const lines = whole.split('\n')
    lines[3] = lines[3].replace(/"text":"[^"]*"/, '"text":"rank 1: sneezes"')
    const { status, stdout } = replayed(lines.join('\n'))
    expect(status).toBe(6)
    expect(stdout).toMatch(/event 3 was recorded by ppcheck \S+ as "rank 1: sneezes" and is now "/)
  })

  test('a choice that the model does not offer', () => {
    const cut = schedule.lastIndexOf(':') + 1
    const impossible = `${schedule.slice(0, cut)}zz`
    const { status, stderr } = ppcheck('replay', impossible, 'capped', '--pp', '2')
    expect(status).toBe(6)
    expect(stderr).toMatch(/^PPC302 [^\n]*\n$/)
  })
})

describe('a file that is no whole trace of this version is refused', () => {
  const cases: [string, (text: string) => string, string][] = [
    ['empty', () => '', 'PPC303'],
    ['not JSON', () => 'hello\n', 'PPC303'],
    ['bytes', (text) => `\0\x01${text.slice(7)}`, 'PPC303'],
    ['of another tool', () => '{"traceEvents":[]}\n', 'PPC303'],
    ['null', () => 'null\n', 'PPC303'],
    ['of an older format', (text) => text.replace('"version":1', '"version":0'), 'PPC303'],
    ['cut between lines', (text) => text.split('\n').slice(0, 9).join('\n'), 'PPC303'],
    ['cut within a line', (text) => text.slice(0, -9), 'PPC303'],
    ['cut within the header', (text) => text.slice(0, 99), 'PPC303'],
    ['without scenario', (text) => text.replace('"scenario":', '"was":'), 'PPC303'],
    ['with a foreign key', (text) => text.replace('"window":', '"windw":'), 'PPC303'],
    ['with another scenario', (text) => text.replace('"window":2', '"window":3'), 'PPC304'],
    ['with half a schedule', (text) => text.replace(/"pp1:[^"]*"/, '"pp1:0"'), 'PPC301'],
    ['with an older schedule', (text) => text.replace('"pp1:', '"pp0:'), 'PPC304'],
  ]
  test.each(cases)('%s', (_name, damage, code) => {
    const damaged = damage(whole)
    expect(damaged).not.toBe(whole)
    const file = join(folder, 'damaged.pptrace.ndjson')
    writeFileSync(file, damaged)
    expect(() => {
      const { scenario, schedule } = readTrace(file)
      decodeSchedule(scenario, schedule)
    }).toThrow(expect.objectContaining({ name: 'PpcheckError', code }))
  })

  test('the undamaged one is read', () => {
    const { scenario, schedule, events } = readTrace(join(folder, 'wedge.pptrace.ndjson'))
    expect(decodeSchedule(scenario, schedule).choices.length).toBeGreaterThan(0)
    expect(events.length).toBeGreaterThan(0)
  })
})

describe('what cannot be replayed is one line, exit 2', () => {
  test.each([
    [['.'], 'PPC109 cannot read .: EISDIR'],
    [['half.pptrace.ndjson'], 'PPC303 half.pptrace.ndjson is not whole: it has 8 events of '],
    [['wedge.pptrace.ndjson', '--pp', '3'], 'PPC107 wedge.pptrace.ndjson is a trace'],
    [['wedge.pptrace.ndjson', 'capped'], 'PPC107 wedge.pptrace.ndjson is a trace'],
    [['pp1:00000000:s:0', 'capped', 'gated'], 'PPC107 a schedule belongs to one scenario'],
    [['pp1:00000000:s:0'], 'PPC105 nothing to check'],
    [['pp1:00000000:s:0', 'capped'], 'PPC304 the schedule belongs to scenario 00000000'],
  ])('%s', (args, line) => {
    const cut = whole.split('\n').slice(0, 9).join('\n')
    writeFileSync(join(folder, 'half.pptrace.ndjson'), cut)
    const { status, stdout, stderr } = ppcheck('replay', ...args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr.startsWith(line), stderr).toBe(true)
    expect(stderr.match(/\n/g)).toHaveLength(1)
  })
})
