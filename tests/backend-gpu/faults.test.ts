// Faults of live runs: the right rank is named, peers abort, and nothing is left, neither a process
// nor shared memory. And what the command prints.

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { missing } from './emulated-device.ts'
import { isAlive, live, ppcheck } from './live-run.ts'

/** Shared memory that is older than a run takes: tests beside this one have some. */
const leftMemory = (): string[] =>
  readdirSync('/dev/shm')
    .filter((name) => name.startsWith('ppcheck-'))
    .filter(
      (name) =>
        Date.now() -
          (statSync(`/dev/shm/${name}`, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) >
        60_000,
    )

describe.skipIf(missing)(`faults on emulated GPUs${missing ? ` (${missing})` : ''}`, () => {
  afterAll(() => expect(leftMemory()).toEqual([]))

  test('a rank killed in a broadcast is named, its peers abort, nothing is left', async () => {
    for (let rank = 0; rank < 4; rank++) {
      const inject = [{ kind: 'die', rank, step: 9 }] as const
      const switches = { draftExecution: 'eager' } as const
      const result = await live('capped', { pp: 4, switches }, { inject })
      expect(result).toMatchObject({ outcome: 'died', rank, code: 'PPC403' })
      expect(result.reason).toBe(`rank ${rank} ended with SIGKILL`)
      expect(result.endMs).toBeLessThan(2000)
      expect(result.processes.filter(isAlive)).toEqual([])
    }
  })

  test('a rank that stands still is the one that does not answer', async () => {
    const inject = [{ kind: 'stall', rank: 2, step: 5 }] as const
    const result = await live('stabilized', { pp: 3 }, { inject })
    expect(result).toMatchObject({ outcome: 'wedge', rank: 2 })
    expect(result.reason).toContain('rank 2 does not answer')
    expect(result.processes.filter(isAlive)).toEqual([])
  })

  test('when the launcher is killed, its ranks end by themselves', async () => {
    const words = ['run', '--gpus', '3', '--device', 'emulated', '--variant', 'stabilized']
    const child = spawn(process.execPath, ['dist/cli/main.js', ...words, '--steps', '1000000'])
    const { pid = -1 } = child
    const children = (): number[] =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
    while (children().filter(Boolean).length < 3) await sleep(50)
    await sleep(500)
    const ranks = children()
    child.kill('SIGKILL')
    const until = performance.now() + 10_000
    while (ranks.some(isAlive) && performance.now() < until) await sleep(50)
    expect(ranks.filter(isAlive)).toEqual([])
  })

  test('the command: labelled as emulated, exit codes, where each rank stands', () => {
    const emulated = ['run', '--gpus', '3', '--device', 'emulated']
    const wedge = ppcheck(...emulated, '--watchdog', '1s', '--variant', 'capped')
    expect(wedge.status).toBe(3)
    expect(wedge.stdout).toMatch(/^capped on 3 emulated GPUs: /m)
    expect(wedge.stdout).toMatch(/^rank 2: host .*main: draft of step \d+/m)
    expect(wedge.stdout).toContain('npx ppcheck explore --variant capped --pp 3')
    const fine = ppcheck(
      ...emulated,
      '--variant',
      'stabilized',
      '--steps',
      '40',
      '--reporter',
      'json',
    )
    expect(fine.status).toBe(0)
    expect(JSON.parse(fine.stdout)).toMatchObject({ outcome: 'completed', emulated: true })
  })
})
