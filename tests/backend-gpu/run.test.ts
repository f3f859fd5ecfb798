// Live runs on the emulated device: the field's outcomes, and what is refused.

import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { glooAddonFile } from '../../backend-cuda/package-folder.ts'
import { missing } from './emulated-device.ts'
import { isAlive, live, ppcheck } from './live-run.ts'

describe.skipIf(missing)(`live on emulated GPUs${missing ? ` (${missing})` : ''}`, () => {
  test('capped wedges on eight, with the draft graph behind a spinning receive', async () => {
    const result = await live('capped', { pp: 8, window: 9 }, { watchdogMs: 1500 })
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

  // Minutes with sanitizers on a busy machine; ten seconds without.
  test('stabilized completes 2 000 steps on eight, every payload verified', {
    timeout: 600_000,
  }, async () => {
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

  test.each(existsSync(glooAddonFile()) ? (['gloo', 'sockets'] as const) : (['sockets'] as const))(
    'tokens over %s',
    async (tokens) => {
      const result = await live('stabilized', { pp: 3 }, { tokens, steps: 100, watchdogMs: 20_000 })
      expect(result).toMatchObject({ outcome: 'completed', tokens, adopted: 97 * 3 * 2 })
    },
  )

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
