// Log lines of every version with every number in them, however they are prefixed and wrapped; RAS,
// stacks and vLLM's own lines.

import { describe, expect, test } from 'vitest'
import { diagnose } from '../../sim/diagnosis/diagnose.ts'
import type { Evidence } from '../../sim/diagnosis/evidence.ts'
import { noEvidence } from '../../sim/diagnosis/evidence.ts'
import { LogFile } from '../../sim/diagnosis/log-file.ts'
import { isRasJson, mergeRasJson } from '../../sim/diagnosis/ras.ts'
import { WatchdogFacts, watchdogLine } from '../../sim/diagnosis/watchdog.ts'

/** Reads texts as the logs of ranks; the key `undefined` is a file without a rank. */
function read(...files: readonly (readonly [number | undefined, string])[]) {
  const evidence: Evidence = noEvidence()
  const watchdog = new WatchdogFacts()
  for (const [rank, text] of files) {
    const log = new LogFile(evidence, watchdog, `rank_${rank}.log`, rank)
    for (const line of text.split('\n')) log.line(line)
    log.finish()
  }
  watchdog.finish(evidence)
  return { evidence, lines: watchdog.lines.map(({ line }) => line), diagnosis: diagnose(evidence) }
}

const timeoutText = (rank: number, sequence: number, elements: number, operation = 'BROADCAST') =>
  `[rank${rank}]:[E918 19:29:24.436955737 ProcessGroupNCCL.cpp:689] [Rank ${rank}] Watchdog ` +
  `caught collective operation timeout: WorkNCCL(SeqNum=${sequence}, OpType=${operation}, ` +
  `NumelIn=${elements}, NumelOut=${elements}, Timeout(ms)=3000000) ran for 3000097 ` +
  'milliseconds before timing out.'

const statusText = (rank: number, work: number, enqueued: number) =>
  `[rank${rank}]:[E918 19:29:24.440481846 ProcessGroupNCCL.cpp:2303] [PG ID 4 PG GUID 67(tp) ` +
  `Rank ${rank}]  failure detected by watchdog at work sequence id: ${work} PG status: last ` +
  `enqueued work: ${enqueued}, last completed work: ${work - 1}`

describe('one line of each version', () => {
  test.each([
    [
      '[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: ' +
        'WorkNCCL(SeqNum=11455, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1806422 ' +
        'milliseconds before timing out.',
      { groupRank: 1, sequence: 11455, timeoutMs: 1800000, ranMs: 1806422, elementsIn: undefined },
    ],
    [
      timeoutText(3, 7219, 64),
      { globalRank: 3, groupRank: 3, sequence: 7219, operation: 'BROADCAST', elementsOut: 64 },
    ],
    [
      '[rank2]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 2] Timeout at NCCL work: 1, last ' +
        'enqueued NCCL work: 1, last completed NCCL work: 76280750235782912.',
      { pgId: 0, work: 1, enqueued: 1, completed: undefined },
    ],
    [
      '[rank3]:[E1012 22:31:22.268214341 ProcessGroupNCCL.cpp:1664] [PG 3 (tp) Rank 3] Exception ' +
        '(either an error or timeout) detected by watchdog at work: 203441, last enqueued NCCL ' +
        'work: 203441, last completed NCCL work: 203440.',
      { pgId: 3, description: 'tp', work: 203441, completed: 203440 },
    ],
    [
      '[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID ' +
        '0(default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at ' +
        'work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.',
      { group: '0', description: 'default_pg', work: 808, enqueued: 811, completed: 807 },
    ],
    [statusText(0, 5730, 6464), { group: '67', work: 5730, enqueued: 6464, completed: 5729 }],
    [
      'PG ID 3: last enqueued work: 224769, last started work: -1, last completed work: 224760',
      { pgId: 3, enqueued: 224769, started: -1, completed: 224760 },
    ],
    [
      '[PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: ' +
        '20 PG status: last enqueued work: 24, last started work: 19 (_ALLGATHER_BASE), last ' +
        'completed work: 18',
      { started: 19, startedOperation: '_ALLGATHER_BASE', completed: 18 },
    ],
    [
      'Received a dump signal due to a collective timeout from  rank 1 and we will try our best ' +
        'to dump the debug info. Last enqueued NCCL work: 77, last completed NCCL work: 77.',
      { from: 1, enqueued: 77, completed: 77 },
    ],
  ])('%.60s', (text, numbers) => {
    expect(watchdogLine(text)).toMatchObject(numbers)
  })
})

test.each([
  ['bare', (text: string) => text],
  ['Ray', (text: string) => `\u001b[36m(RayWorkerWrapper pid=3106, ip=10.0.0.7)\u001b[0m ${text}`],
  ['srun', (text: string) => `11: ${text}`],
  ['a bar', (text: string) => `  | ${text}`],
  ['a clock', (text: string) => `2026-09-18 19:29:24 ${text}`],
  ['wrapped at 80 columns', (text: string) => (text.match(/.{1,80}/g) ?? []).join('\n')],
  ['wrapped at 37 columns', (text: string) => (text.match(/.{1,37}/g) ?? []).join('\n')],
])('prefix and wrap: %s', (_name, spoil) => {
  const { lines } = read([undefined, spoil(`${timeoutText(3, 7219, 24084544)}`)])
  expect(lines).toMatchObject([
    { is: 'timeout', globalRank: 3, sequence: 7219, elementsIn: 24084544, timeoutMs: 3000000 },
  ])
})

describe('what logs tell', () => {
  test('two counts at one sequence number are a mismatch', () => {
    const status = [2, 3].map((rank) => statusText(rank, 7219, 7219))
    const text = [timeoutText(3, 7219, 64), timeoutText(2, 7219, 24084544), ...status].join('\n')
    const { mismatches, culprits } = read([undefined, text]).diagnosis
    expect(mismatches).toMatchObject([{ sequence: 7219, field: 'count' }])
    expect(culprits.map(({ rank, kind }) => [rank, kind])).toEqual([
      [2, 'mismatch'],
      [3, 'mismatch'],
    ])
  })

  test('the one silent rank below those that all wait at one operation', () => {
    const text = [1, 2, 3].map((rank) => timeoutText(rank, 4, 112)).join('\n')
    const { culprits } = read([undefined, text]).diagnosis
    expect(culprits).toMatchObject([{ rank: 0, kind: 'host', confidence: 0.6 }])
  })

  test('one rank alone is no evidence against anybody', () => {
    const { outcome, culprits, missing } = read([undefined, timeoutText(1, 4, 8)]).diagnosis
    expect({ outcome, culprits }).toEqual({ outcome: 'insufficient', culprits: [] })
    expect(missing.join('\n')).toContain('TORCH_FR_BUFFER_SIZE')
  })

  test('a rank that only heard of the timeout, with nothing open, never joined', () => {
    const heard =
      '[rank5]:[E709 17:05:38.482119928 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0 Rank 5] ' +
      'Received a dump signal due to a collective timeout from  rank 1 and we will try our best ' +
      'to dump the debug info. Last enqueued NCCL work: 77, last completed NCCL work: 77.'
    const { culprits } = read([undefined, `${timeoutText(1, 78, 8)}\n${heard}`]).diagnosis
    expect(culprits).toMatchObject([{ rank: 5, kind: 'host' }])
  })

  test('a desync report names the rank itself', () => {
    const line = "     [7] finished collective #182, but didn't join collective #183 (count from 1)"
    expect(read([undefined, line]).diagnosis.culprits).toMatchObject([{ rank: 7, kind: 'host' }])
  })

  test('RAS lists who is behind, and who is gone', () => {
    const text = [
      '#0-0 (12a1b02d15a8bb89) MISMATCH',
      '  Communicator ranks have different AllGather operation counts',
      '  6 ranks have launched up to operation 640',
      '  1 rank has launched up to operation 639',
      '  Rank 4 -- GPU 4 managed by process 7 on node 10.0.0.1',
      '#0-1 (cf264af53edbe986) INCOMPLETE',
      '  Missing communicator data from 1 rank',
      '  The missing rank: 21',
    ].join('\n')
    const { culprits } = read([undefined, text]).diagnosis
    expect(culprits.map(({ rank, kind }) => [rank, kind])).toEqual([
      [4, 'host'],
      [21, 'dead'],
    ])
  })

  test('RAS as JSON', () => {
    const ranks = [5, 5, 4].map((count, rank) => ({
      rank,
      collective_counts: { Broadcast: count },
    }))
    const value = { communicators: [{ hash: '0x1', size: 4, ranks, missing_ranks: [{ rank: 3 }] }] }
    expect(isRasJson(value)).toBe(true)
    const evidence = noEvidence()
    mergeRasJson(evidence, value, 'ras.json')
    expect(diagnose(evidence).culprits.map(({ rank, kind }) => [rank, kind])).toEqual([
      [2, 'host'],
      [3, 'dead'],
    ])
  })

  test('stacks of faulthandler and py-spy give the main thread, innermost first', () => {
    const fault = [
      'Thread 0x00007fd9070746c0 [mp_exec_io] (most recent call first):',
      '  File "a.py", line 3 in recv_loop',
      '',
      'Current thread 0x00007fd90743e200 [python3] (most recent call first):',
      '  File "b.py", line 6 in acquire_read',
      '  File "b.py", line 7 in <module>',
    ].join('\n')
    const spy = [
      'Process 88692: python3 -m sglang.launch_server',
      'Thread 88692 (idle): "MainThread"',
      '    c10d::ProcessGroupGloo::RecvWork::wait (libtorch_cpu.so)',
      '    recv (torch/distributed/distributed_c10d.py:2582)',
    ].join('\n')
    const { evidence } = read([0, fault], [1, spy])
    expect(evidence.stacks.get(0)?.functions).toEqual(['acquire_read', '<module>'])
    expect(evidence.stacks.get(1)?.functions.at(-1)).toBe('recv')
  })

  test('lines of vLLM are kept with their place, and control characters are not', () => {
    const line = '(EngineCore pid=1) TimeoutError: RPC call to sample_tokens timed out.\u0007'
    const { evidence, diagnosis } = read([undefined, line])
    expect(evidence.notes[0]).toMatchObject({ source: { record: 'line 1' } })
    expect(evidence.notes[0].text).not.toContain('\u0007')
    expect(diagnosis.outcome).toBe('insufficient')
  })
})
