// Calibration: on the emulated device it must find what that device was told to be, and a profile
// must reach the verdict.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  type DeviceProfile,
  parseDeviceProfile,
  rulesOf,
} from '../../backend-cuda/device-profile.ts'
import { missing } from './emulated-device.ts'

const folder = mkdtempSync(join(tmpdir(), 'ppcheck-calibrate-'))
afterAll(() => rmSync(folder, { recursive: true }))

const ppcheck = (words: readonly string[], environment: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/cli/main.js', ...words], {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', ...environment },
  })
  return { status, stdout, stderr }
}

const profile: DeviceProfile = {
  format: 'ppcheck-device-profile',
  version: 1,
  emulated: true,
  device: {
    name: 'a device',
    computeCapability: '9.0',
    multiprocessors: 132,
    threadsPerMultiprocessor: 2048,
    memoryBytes: 2 ** 30,
  },
  driverVersion: '13.0',
  environment: {},
  residency: [
    { connections: null, blocks: 1, threads: 128, launched: 16, resident: 9, partial: 0 },
    { connections: null, blocks: 24, threads: 640, launched: 16, resident: 3, partial: 1 },
    { connections: 1, blocks: 1, threads: 128, launched: 16, resident: 1, partial: 0 },
  ],
  beside: [{ spinning: 1, kernelUs: 10, graphUs: null }],
  firstUseUs: 12,
  latencyUs: { event: 5, flag: 2 },
}

const saved = (name: string, data: unknown): string => {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(data))
  return file
}

describe('what a profile says to the model', () => {
  test('the fewest kernels of any shape, under the driver’s own connections', () => {
    expect(rulesOf(profile)).toEqual({
      residentCollectives: 3,
      hardwareQueues: 0,
      exclusiveGraphs: true,
      moduleLoading: 'eager',
    })
  })

  test('shared queues, if few connections are set and were seen to matter', () => {
    const environment = { CUDA_DEVICE_MAX_CONNECTIONS: '2' }
    expect(rulesOf({ ...profile, environment }).hardwareQueues).toBe(2)
  })

  test('graphs that start beside spinning kernels; a first use that waits', () => {
    const beside = [{ spinning: 1, kernelUs: 10, graphUs: 11 }]
    const rules = rulesOf({ ...profile, beside, firstUseUs: null })
    expect([rules.exclusiveGraphs, rules.moduleLoading]).toEqual([false, 'lazy'])
  })

  test('and to a verdict: with more places and eager graphs the same variant holds', () => {
    const words = ['explore', '--variant', 'capped', '--pp', '3', '--device-profile']
    const wedge = ppcheck([...words, saved('two.json', profile)])
    expect(wedge.stdout).toContain('--resident 3')
    expect(wedge.status).toBe(3)
    const open = { ...profile, beside: [{ spinning: 1, kernelUs: 10, graphUs: 11 }] }
    expect(ppcheck([...words, saved('open.json', open)]).status).toBe(0)
  })
})

describe('profiles that are none', () => {
  test.each([
    ['another version', { ...profile, version: 2 }, /version 2; this ppcheck reads version 1/],
    ['another file', { hello: 1 }, /is no device profile/],
    ['a wrong number', { ...profile, firstUseUs: -1 }, /firstUseUs: /],
    ['a missing part', { ...profile, residency: [] }, /residency: /],
  ])('%s', (_name, data, message) => {
    expect(() => parseDeviceProfile(JSON.stringify(data), 'x.json')).toThrow(message)
    const file = saved('wrong.json', data)
    const result = ppcheck(['explore', '--variant', 'capped', '--device-profile', file])
    expect([result.status, result.stderr.slice(0, 6)]).toEqual([2, 'PPC425'])
  })

  test('no JSON, no file', () => {
    expect(() => parseDeviceProfile('{', 'x.json')).toThrow(/it is not JSON/)
    const result = ppcheck(['explore', '--variant', 'capped', '--device-profile', '/nowhere'])
    expect([result.status, result.stderr.slice(0, 6)]).toEqual([2, 'PPC109'])
  })
})

describe.skipIf(missing)(`ppcheck calibrate${missing ? ` (${missing})` : ''}`, () => {
  const calibrate = (name: string, environment: Record<string, string>) => {
    const output = join(folder, name)
    const words = ['calibrate', '--device', 'emulated', '--output', output]
    return { output, ...ppcheck(words, environment) }
  }

  test('finds the places, the graphs and the lazy loading of the emulated device', () => {
    const { output, status, stdout } = calibrate('three.json', {
      PPCHECK_EMULATED_RESIDENT: '3',
      CUDA_MODULE_LOADING: 'LAZY',
    })
    expect(status).toBe(0)
    expect(stdout).toContain('(emulated: says nothing of a GPU)')
    const measured = parseDeviceProfile(readFileSync(output, 'utf8'), output)
    expect(measured.emulated).toBe(true)
    expect(measured.environment).toEqual({ CUDA_MODULE_LOADING: 'LAZY' })
    expect(rulesOf(measured)).toEqual({
      residentCollectives: 3,
      hardwareQueues: 0,
      exclusiveGraphs: true,
      moduleLoading: 'lazy',
    })
    // Fewer connections than places: streams share a queue and hold each other up.
    const withOne = measured.residency.filter(({ connections }) => connections === 1)
    expect(withOne.map(({ resident }) => resident)).toEqual([1, 1, 1, 1])
    // Nothing is overwritten without --force.
    expect(calibrate('three.json', {}).stderr).toMatch(/^PPC108 /)
  })

  test.each([
    ['a driver too old for a symbol', { PPCHECK_EMULATED_DRIVER: '11020' }, [], 'PPC422'],
    ['no GPU', { PPCHECK_EMULATED_GPUS: '0' }, [], 'PPC423'],
    ['fewer GPUs than asked', {}, ['--gpu', '8'], 'PPC426'],
    ['a library that is no driver', {}, ['--cuda-library', 'libm.so.6'], 'PPC421'],
  ])('%s', (_name, environment, words, code) => {
    const output = join(folder, 'never.json')
    const all = ['calibrate', '--device', 'emulated', '--output', output, ...words]
    const { status, stderr } = ppcheck(all, environment as Record<string, string>)
    expect([status, stderr.slice(0, 6)]).toEqual([7, code])
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
