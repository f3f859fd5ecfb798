// `ppcheck gate` in a scratch folder, as a maintainer meets it: green, a bug put in, red, and the
// reports of CI.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ppcheckIn, temporaryFolder } from './run.ts'

const folder = temporaryFolder()
const gate = (...args: string[]) => ppcheckIn(folder, 'gate', ...args)
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** A small engine; `posts` is what its last rank does for an empty mask. */
const engine = (posts: 'always' | 'sometimes'): string => `
import { broadcast, defineProtocol, defineScenario, done, launch, pend, reply, when } from 'ppcheck'
const tokens = broadcast('tokens', {
  communicator: 'token', stream: 'broadcast', root: 'last', dtype: 'int64', shape: ['R', 1],
})
const sent = ${posts === 'always' ? 'tokens' : "when(['mask'], tokens)"}
const protocol = defineProtocol({
  name: 'mine', summary: '', communicators: { token: { kind: 'group' } },
  roles: {
    others: { execute: [launch('forward', { stream: 'main' })], sample: [tokens, pend()] },
    last: {
      execute: [launch('forward', { stream: 'main' })],
      sample: [launch('sample', { stream: 'main' }), reply(done('sample')), sent],
    },
  },
})
export default defineScenario({
  name: 'mine', protocol, topology: { pp: 3, window: 3 },
  workload: { choices: [{}, { mask: 'empty' }] }, properties: ['P1', 'P2', 'P10'],
})
`

const config = `
import { defineConfig } from 'ppcheck'
export default defineConfig({
  scenarios: [
    { scenario: 'mine.protocol.ts', name: 'mine', expect: 'holds' },
    { scenario: 'capped', pp: 3, expect: 'P1' },
  ],
})
`

describe('the five-minute recipe', () => {
  test('without expectations it is red and says how to write them', () => {
    write('mine.protocol.ts', engine('always'))
    write('ppcheck.config.ts', config)
    const { status, stdout } = gate()
    expect(status).toBe(1)
    expect(stdout).toContain('ppcheck gate --update')
    expect(existsSync(join(folder, 'ppcheck.expected.json'))).toBe(false)
  })

  test('with them it is green', () => {
    expect(gate('--update').status).toBe(0)
    const committed = read('ppcheck.expected.json')
    const { status, stdout } = gate('--workers', '1')
    expect(status).toBe(0)
    expect(stdout).toContain('2 of 2 as expected')
    expect(gate('--workers', '2').stdout).toBe(stdout)
    gate('--update')
    expect(read('ppcheck.expected.json')).toBe(committed)
  })

  test('with the bug put back it is red, in every report', () => {
    write('mine.protocol.ts', engine('sometimes'))
    const reports = ['junit=j.xml', 'sarif=s.json', 'github=g.txt', 'markdown=m.md']
    const { status, stdout } = gate(
      ...['default', ...reports].flatMap((each) => ['--reporter', each]),
    )
    expect(status).toBe(1)
    expect(stdout).toContain('✗ mine: violates')
    expect(stdout).toContain('npx ppcheck replay')
    expect(stdout).toContain('1 of 2 as expected')

    const junit = read('j.xml')
    expect(junit).toContain('tests="2" failures="1"')
    expect(elements(junit)).toEqual(['testsuites', 'testsuite', 'testcase', 'failure', 'testcase'])

    const sarif = JSON.parse(read('s.json'))
    const [run] = sarif.runs
    expect(sarif.version).toBe('2.1.0')
    expect(run.results).toHaveLength(1)
    const [{ ruleId, message, locations, partialFingerprints }] = run.results
    const rules = run.tool.driver.rules.map(({ id }: { id: string }) => id)
    expect(rules).toContain(ruleId)
    expect(message.text).toContain('mine')
    expect(locations[0].physicalLocation.artifactLocation.uri).toBe('ppcheck.config.ts')
    expect(partialFingerprints['ppcheck/v1']).toMatch(/^[0-9a-f]{64}$/)

    expect(read('g.txt')).toMatch(
      /^::error file=ppcheck\.config\.ts,title=ppcheck%3A mine::[^\n]+\n$/,
    )
    expect(read('m.md')).toContain('| ❌ | mine |')
  })
})

describe('any difference fails', () => {
  test('a state count that changed in silence', () => {
    write('mine.protocol.ts', engine('always'))
    const committed = read('ppcheck.expected.json')
    write('ppcheck.expected.json', committed.replace(/"states": \d+/, '"states": 9999'))
    const { status, stdout } = gate()
    expect(status).toBe(1)
    expect(stdout).toMatch(/states 9999 → \d+/)
    write('ppcheck.expected.json', committed)
  })

  test('a scenario that is no longer listed', () => {
    write('ppcheck.config.ts', config.replace(/\n.*'capped'.*\n/, '\n'))
    const { status, stdout } = gate()
    expect(status).toBe(1)
    expect(stdout).toContain('capped, pp 3: is expected and no longer listed')
  })
})

describe('what is refused', () => {
  test.each([
    ['export default { scenarios: [] }', 'PPC111'],
    ['export default { scenarios: [{ scenario: "capped", pq: 3 }] }', 'PPC111'],
    ['throw new Error("no")', 'PPC111'],
    ['export default { scenarios: [{ scenario: "capd" }] }', 'PPC110'],
    ['export default { scenarios: [{ scenario: "capped" }, { scenario: "capped" }] }', 'PPC107'],
  ])('%s', (text, code) => {
    write('bad.config.ts', text)
    const { status, stderr } = gate('--config', 'bad.config.ts')
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^${code} [^\\n]*\\n$`))
  })

  test.each([
    ['{"format":99,"scenarios":{}}', 'PPC126'],
    ['{', 'PPC126'],
    ['{"format":1,"scenarios":{"mine":{}}}', 'PPC126'],
  ])('expectations %s', (text, code) => {
    write('ppcheck.config.ts', config)
    write('ppcheck.expected.json', text)
    const { status, stderr } = gate()
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^${code} [^\\n]*\\n$`))
  })

  test.each([
    [['--config', 'nowhere.ts'], 'PPC125'],
    [['--reporter', 'xunit'], 'PPC106'],
    [['--reporter', 'junit=/nowhere/j.xml'], 'PPC109'],
  ])('%j', (args, code) => {
    const { status, stderr } = gate(...args)
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^${code} [^\\n]*\\n$`))
  })
})

/** Names of the elements in order; throws where they do not nest. */
function elements(xml: string): string[] {
  const open: string[] = []
  const found: string[] = []
  for (const [, close, name, self] of xml.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
    if (close === '/') expect(open.pop()).toBe(name)
    else {
      found.push(name ?? '')
      if (self !== '/') open.push(name ?? '')
    }
  }
  expect(open).toEqual([])
  return found
}
