// Live runs on the emulated device: the field's outcomes, faults, and that no process is ever left.

import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type LiveOptions, runLive } from '../../backend-cuda/gpu-launcher.ts'
import { type FieldOverrides, fieldScenario } from '../../spec/protocols/index.ts'
import { missing } from './emulated-device.ts'

const live = (variant: string, overrides: FieldOverrides, change: Partial<LiveOptions> = {}) => {
  const scenario = fieldScenario(variant, overrides)
  return runLive({
    scenario,
    paths: { device: 'emulated' },
    steps: 20,
    seed: 1,
    // A wedge must not be what a busy machine looks like.
    watchdogMs: 3000,
    forwardUs: 100,
    sampleUs: 20,
    draftUs: 50,
    activationBytes: 4096,
    inject: [],
    ...change,
    environment: {
      PPCHECK_EMULATED_RESIDENT: String(scenario.device.residentCollectives),
      ...change.environment,
    },
  })
}

const ppcheck = (...words: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/cli/main.js', ...words], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { status, stdout, stderr }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Communicators leave no shared memory behind. */
const sharedMemory = (): string[] =>
  readdirSync('/dev/shm').filter((name) => name.startsWith('ppcheck-'))

describe.skipIf(missing)(`live on emulated GPUs${missing ? ` (${missing})` : ''}`, () => {
  test('capped wedges on eight, with the draft graph behind a spinning receive', async () => {
    const result = await live('capped', { pp: 8, window: 9 })
    expect(result).toMatchObject({ outcome: 'wedge', emulated: true })
    const last = result.ranks[7]?.heads ?? []
    const label = (stream: string) => last.find((head) => head.stream === stream)?.label
    expect(label('main')).toMatch(/^draft of step \d+$/)
    expect(label('activation-receive')).toMatch(/^receive-activation of step \d+$/)
    // Everybody else spins in the broadcast of those drafts, or stands behind it.
    const step = label('main')?.replace('draft of ', '')
    for (const status of result.ranks) {
      expect(status?.heads).toContainEqual({ stream: 'broadcast', label: `drafts of ${step}` })
    }
    expect(result.processes.filter(isAlive)).toEqual([])
  })

  test('stabilized completes 2 000 steps on eight, every payload verified', async () => {
    const result = await live('stabilized', { pp: 8 }, { steps: 2000, watchdogMs: 20_000 })
    expect(result).toMatchObject({ outcome: 'completed', retired: 2000, wrongWords: 0 })
    // Sampled, counts and drafts on seven ranks; the last pp steps are never consumed.
    expect(result.adopted).toBe((2000 - 8) * 3 * 7)
  })

  test.each([
    ['rung 3 with the launch order of NCCL 2.26', 'capped', { NCCL_LAUNCH_ORDER_IMPLICIT: '1' }],
    ['tokens on the CPU, full-graph drafts', 'gloo-deferred', {}],
  ])('%s', async (name, variant, environment) => {
    const isRescued = name.startsWith('rung 3')
    const result = await live(variant, { pp: 4 }, { environment, steps: 200 })
    expect(result.outcome).toBe(isRescued ? 'completed' : 'wedge')
  })

  test('neighbours that meet on their hosts, and communicators that are shared', async () => {
    const switches = {
      draftExecution: 'eager',
      activationMetadata: 'rendezvous',
      activationCommunicator: 'group',
    } as const
    const sibling = await live('capped', { pp: 3, switches }, { steps: 100 })
    expect(sibling).toMatchObject({ outcome: 'completed', wrongWords: 0 })
  })

  test('a mask of its own is caught by the header, on the rank and in the step', async () => {
    const inject = [{ kind: 'own-mask', rank: 1, step: 7 }] as const
    const result = await live(
      'capped',
      { pp: 3, switches: { draftExecution: 'eager' } },
      { inject },
    )
    expect(result).toMatchObject({ outcome: 'raised', rank: 1 })
    expect(result.reason).toMatch(/^rank 1 raised in step 7: header field maskHash is \d+, /)
  })

  test('an int32 header raises at the sender for a hash that does not fit', async () => {
    const result = await live('fixed-four', { pp: 2, device: { residentCollectives: 3 } })
    expect(result).toMatchObject({ outcome: 'raised', rank: 1 })
    expect(result.reason).toMatch(/header maskHash \d+ is no int32/)
  })

  test('killing any rank in the middle of a broadcast: named, peers aborted, nothing left', async () => {
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
    const emulated = ['run', '--gpus', '3', '--device', 'emulated', '--watchdog', '1s']
    const wedge = ppcheck(...emulated, '--variant', 'capped')
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

  test('nothing is left in shared memory', () => {
    expect(sharedMemory()).toEqual([])
  })

  const options = ['run', '--variant', 'capped']
  test.each([
    [['--gpus', '0', '--device', 'emulated'], 2, 'PPC101'],
    [['--gpus', '1', '--device', 'emulated'], 2, 'PPC101'],
    [['--gpus', '9', '--device', 'emulated'], 7, 'PPC426'],
    [['--gpus', '2', '--device', 'emulated', '--nccl-library', 'libm.so.6'], 7, 'PPC421'],
    [['--gpus', '2', '--device', 'emulated', '--inject', 'die@2:1'], 2, 'PPC101'],
    [['--gpus', '2', '--device', 'emulated', '--inject', 'sleep@1:1'], 2, 'PPC102'],
    [['--gpus', '2', '--resident', '3'], 2, 'PPC107'],
    [['--gpus', '2', '--cuda-library', '/nowhere'], 7, 'PPC420'],
    [['--device', 'emulated'], 2, 'PPC105'],
  ])('%j ends with one line', (words, status, code) => {
    const result = ppcheck(...options, ...words)
    expect([result.status, result.stderr.slice(0, 6), result.stdout]).toEqual([status, code, ''])
    expect(result.stderr.trim().split('\n')).toHaveLength(1)
  })
})
