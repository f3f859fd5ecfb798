// The addon's device and the emulation under sanitizers: no leak, overflow or undefined behaviour
// in 1 000 rounds of init and abort, and no data race.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { missing } from './emulated-device.ts'

const folder = mkdtempSync(join(tmpdir(), 'ppcheck-sanitizers-'))
afterAll(() => rmSync(folder, { recursive: true }))

const native = 'backend-cuda/native/cuda'
const emulation = 'backend-cuda/emulation'
const compiler = process.env['CXX'] ?? 'c++'

const run = (command: string, args: readonly string[], environment: Record<string, string> = {}) =>
  spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, ...environment } })

/** Builds libraries and program with the sanitizers, and runs the rounds. */
function cycles(sanitizers: string, rounds: number) {
  const flags = ['-std=c++17', '-g1', '-pthread', `-fsanitize=${sanitizers}`]
  const out = (name: string) => join(folder, `${sanitizers.replace(',', '-')}-${name}`)
  const [driver, nccl, program] = [out('libcuda.so.1'), out('libnccl.so.2'), out('cycles')]
  const builds = [
    ['-fPIC', '-shared', '-o', driver, `${emulation}/engine.cc`, `${emulation}/driver.cc`],
    ['-fPIC', '-shared', '-o', nccl, `${emulation}/nccl.cc`, driver],
    [
      ...['-o', program, 'tests/backend-gpu/native/cycles.cc'],
      ...[`${native}/device.cc`, `${native}/libraries.cc`, '-ldl'],
    ],
  ]
  for (const args of builds) {
    const { status, stderr } = run(compiler, [...flags, ...args])
    expect(status, stderr).toBe(0)
  }
  return run(program, [driver, nccl, String(rounds)], {
    ASAN_OPTIONS: 'detect_leaks=1',
    UBSAN_OPTIONS: 'halt_on_error=1',
  })
}

const hasThreadSanitizer = (): boolean => {
  const found = run(compiler, ['-print-file-name=libtsan.so']).stdout?.trim() ?? ''
  return found !== 'libtsan.so' && existsSync(found)
}

describe.skipIf(missing)(`sanitizers${missing ? ` (${missing})` : ''}`, () => {
  test('1 000 rounds leak nothing and do nothing undefined', () => {
    const { status, stdout, stderr } = cycles('address,undefined', 1000)
    expect([status, stdout, stderr]).toEqual([0, '1000 rounds\n', ''])
  })

  test.skipIf(!hasThreadSanitizer())('100 rounds have no data race', () => {
    const { status, stdout, stderr } = cycles('thread', 100)
    expect([status, stdout, stderr]).toEqual([0, '100 rounds\n', ''])
  })
})
