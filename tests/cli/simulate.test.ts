// `ppcheck simulate` as a process.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ppcheck, temporaryFolder } from './run.ts'

const small = ['--pp', '3', '--iterations', '300']

test('a clean run tells what was watched, served and adopted', () => {
  const { status, stdout } = ppcheck('simulate', 'stabilized', ...small)
  expect(status).toBe(0)
  expect(stdout).toMatch(/^seed {8}1\n/)
  expect(stdout).toContain('CLEAN')
  expect(stdout).toMatch(/\niterations {2}300 of 300 /)
  expect(stdout).toMatch(/\nin flight {3}[▁▂▃▄▅▆▇█]+ \(of 3\)\n/)
  expect(ppcheck('simulate', 'stabilized', ...small).stdout).toBe(stdout)
})

test('a wedge ends with 3 and a line that replays it', () => {
  const { status, stdout } = ppcheck('simulate', '--variant', 'capped', '--seed', '3')
  expect(status).toBe(3)
  expect(stdout).toContain('WEDGED')
  const [, line] = /\nnpx ppcheck (simulate .*)\n/.exec(stdout) ?? []
  expect(ppcheck(...(line ?? '').split(' ')).stdout).toBe(stdout)
})

test('the report is data as well', () => {
  const { stdout } = ppcheck('simulate', 'stabilized', ...small, '--reporter', 'json')
  expect(JSON.parse(stdout)).toMatchObject({
    command: 'simulate',
    end: 'done',
    iterations: 300,
    disagreements: 0,
  })
})

describe('a workload file', () => {
  const folder = temporaryFolder()
  const file = (text: string): string => {
    const path = join(folder, 'workload.json')
    writeFileSync(path, text)
    return path
  }

  test('changes the traffic', () => {
    const traffic = { longRequests: 0, lengthFinishes: 3, stops: 0, maxTokens: [5, 9] }
    const path = file(JSON.stringify({ iterations: 200, tokenBudget: 64, traffic }))
    const { status, stdout } = ppcheck('simulate', 'stabilized', '--pp', '2', '--workload', path)
    expect(status).toBe(0)
    expect(stdout).toMatch(/\niterations {2}200 of 200 /)
    expect(stdout).toMatch(/ by length, 0 preempted/)
  })

  test.each([
    ['{"traffic":{"shortPrompt":[-5,4]}}', 'PPC111'],
    ['{"traffic":{"shortPrompt":[9,4]}}', 'PPC111'],
    ['{"trafic":{}}', 'PPC111'],
    ['{"traffic":{"lengthFinishes":0,"stops":0}}', 'PPC111'],
    ['{"traffic":{"longRequests":99}}', 'PPC111'],
    ['{"tokenBudget":0}', 'PPC111'],
    ['not json', 'PPC111'],
  ])('%s', (text, code) => {
    const { status, stderr } = ppcheck('simulate', 'stabilized', '--workload', file(text))
    expect(status).toBe(2)
    expect(stderr).toMatch(new RegExp(`^${code} [^\n]*\n$`))
  })
})

test.each([
  [['simulate', 'stabilized', '--iterations', '0'], 'PPC101'],
  [['simulate', 'stabilized', '--workload', 'nowhere.json'], 'PPC109'],
  [['simulate', 'stabilized', '--seed', 'many'], 'PPC101'],
  [['simulate', 'stabilised'], 'PPC110'],
  [['simulate', 'stabilized', '--steps', '4'], 'PPC104'],
])('%j', (args, code) => {
  const { status, stderr } = ppcheck(...args)
  expect(status).toBe(2)
  expect(stderr).toMatch(new RegExp(`^${code} [^\n]*\n$`))
})
