// Real dumps with a known truth: runs over Gloo recorded for this project, and third-party runs
// over NCCL with injected faults, read in place.

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readFiles } from '../../cli/diagnose/read-files.ts'
import { blamed, diagnoseFiles, gloo, thirdParty } from './samples.ts'

describe('four ranks over Gloo', () => {
  test.each([
    ['receivers_ahead', ['3:host'], 13, 'sampled', 4],
    ['ring_wrap', ['3:host'], 19, 'sampled', 6],
    ['drafts_skipped_on_receiver', ['2:host'], 12, 'drafts', 3],
    ['op_mismatch', ['2:mismatch'], 10, 'sampled', 3],
    ['p2p_no_recv', ['2:host'], 10, 'sampled', 3],
    ['group_order_inversion', ['0:host'], 10, 'sampled', 3],
  ])('%s', async (scenario, culprits, sequence, payload, step) => {
    const diagnosis = await diagnoseFiles(join(gloo, scenario))
    expect(blamed(diagnosis)).toEqual(culprits)
    expect(diagnosis.outcome).toBe('explained')
    expect(diagnosis.divergence).toMatchObject({ sequence, phase: { payload, step, period: 3 } })
  })

  test('a healthy run has nothing wrong', async () => {
    const { outcome, culprits } = await diagnoseFiles(join(gloo, 'healthy'))
    expect({ outcome, culprits }).toEqual({ outcome: 'nothing-wrong', culprits: [] })
  })

  test('the rank that aborts on a payload of another size is named, without its dump', async () => {
    const diagnosis = await diagnoseFiles(join(gloo, 'size_mismatch'))
    expect(blamed(diagnosis)).toEqual(['0:mismatch'])
    expect(diagnosis.culprits[0].why).toContain('192 bytes, its buffer has 32')
  })

  test('ranks that wait for each other on two communicators are a cycle', async () => {
    const { cycle, hazards } = await diagnoseFiles(join(gloo, 'group_order_inversion'))
    expect(cycle.map(({ from, to, communicator }) => [from, to, communicator])).toEqual([
      [0, 1, '3'],
      [1, 0, '2'],
    ])
    expect(hazards.map(({ id }) => id)).toEqual(['H3'])
  })

  test('receivers in the next step are the hazard of the extra batch', async () => {
    const { hazards } = await diagnoseFiles(join(gloo, 'receivers_ahead'))
    expect(hazards.map(({ id }) => id)).toEqual(['H2'])
  })

  test('empty and cut-off dumps give no culprit, and say what is missing', async () => {
    const { outcome, missing } = await diagnoseFiles(join(gloo, '_broken'))
    expect(outcome).toBe('insufficient')
    expect(missing.join('\n')).toMatch(/dump of rank 0: this one is empty/)
  })

  test('JSON says what the pickle says', async () => {
    const folder = join(gloo, 'receivers_ahead')
    const named = (pattern: RegExp): string[] =>
      readdirSync(folder)
        .filter((name) => pattern.test(name))
        .map((name) => join(folder, name))
    const pickles = await diagnoseFiles(...named(/^comm/))
    const json = await diagnoseFiles(...named(/json$/))
    expect(json).toEqual(pickles)
  })

  test('names do not matter beyond the rank, and the rank may be read elsewhere', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ppcheck-'))
    try {
      const from = join(gloo, 'receivers_ahead')
      for (const rank of [0, 1, 2, 3]) {
        copyFileSync(join(from, `comm_lib_trace_rank_${rank}`), join(folder, `r${rank}-host7.bin`))
      }
      const { evidence } = await readFiles([folder], { rankFrom: /r(\d+)-host/ })
      expect([...evidence.dumped].sort()).toEqual([0, 1, 2, 3])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe.skipIf(thirdParty === undefined)('injected faults over NCCL, 16 ranks', () => {
  const runs = join(thirdParty ?? '', 'flight-recorder/nvrx')
  const cases = thirdParty === undefined ? [] : readdirSync(runs).filter((name) => /_/.test(name))

  test.each(cases)('%s: exactly the injected ranks, and on which side', async (name) => {
    const truth = readFileSync(join(runs, name, 'fault_injection.log'), 'utf8')
    const injected = [...truth.matchAll(/^Rank (\d+), fault_type: (\w+)/gm)]
    expect(injected.length).toBeGreaterThan(0)
    const expected = injected.map(([, rank, type]) => {
      return `${rank}:${/GPU/.test(type) ? 'device' : 'host'}`
    })
    expect(blamed(await diagnoseFiles(join(runs, name)))).toEqual(expected)
  })
})
