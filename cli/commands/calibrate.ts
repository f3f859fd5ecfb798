// `ppcheck calibrate`: measures a GPU and writes device-profile.json, which `explore` takes its
// device rules from. One GPU is enough, and NCCL is not needed.

import { existsSync } from 'node:fs'
import type { ChalkInstance } from 'chalk'
import { defaultSettings } from '../../backend-cuda/calibration.ts'
import { profileDevice } from '../../backend-cuda/calibration-runs.ts'
import { type DeviceProfile, rulesOf } from '../../backend-cuda/device-profile.ts'
import { fail } from '../../spec/error.ts'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'

export async function run({ options, progress }: Invocation): Promise<Report> {
  const file = options.output ?? 'device-profile.json'
  if (existsSync(file) && options.force !== true) {
    fail('PPC108', `${file} is there already (--output)`, 'another --output, or --force')
  }
  checkTarget(file, '--output')
  const { cudaLibrary, device = 'gpu', gpu = 0 } = options
  const paths = { device, ...(cudaLibrary === undefined ? {} : { driver: cudaLibrary }) }
  const settings = { ...defaultSettings, ordinal: gpu }
  const profile = await profileDevice(paths, settings, (text) => progress.update(() => text))
  writeFileAtomically(file, `${JSON.stringify(profile, undefined, 2)}\n`)
  return {
    command: 'calibrate',
    exitCode: exitCodes.holds,
    data: { file, profile, rules: rulesOf(profile) },
    text: (paint) => text(paint, file, profile),
  }
}

const us = (value: number | null): string => (value === null ? 'held up' : `${value} µs`)

function text(paint: ChalkInstance, file: string, profile: DeviceProfile): string {
  const { device, driverVersion, emulated, residency, beside, firstUseUs, latencyUs } = profile
  const rules = rulesOf(profile)
  const label = emulated ? paint.yellow(' (emulated: says nothing of a GPU)') : ''
  const queues = rules.hardwareQueues === 0 ? 'one for each stream' : rules.hardwareQueues
  return [
    `${paint.bold(device.name)}, CUDA driver ${driverVersion}${label}`,
    '',
    'connections  blocks × threads  kernels side by side',
    ...residency.map(({ connections, blocks, threads, resident, launched, partial }) => {
      const some = partial > 0 ? `, ${partial} in part` : ''
      const shape = `${blocks} × ${threads}`.padEnd(16)
      const setting = String(connections ?? 'as set').padEnd(11)
      return `${setting}  ${shape}  ${resident} of ${launched}${some}`
    }),
    '',
    'spinning  a kernel starts  a graph starts',
    ...beside.map(({ spinning, kernelUs, graphUs }) =>
      `${String(spinning).padEnd(8)}  ${us(kernelUs).padEnd(15)}  ${us(graphUs)}`.trimEnd(),
    ),
    '',
    `first use of a kernel beside a spinning one: ${us(firstUseUs)}`,
    `seen by the host: an event after ${latencyUs.event} µs, a flag after ${latencyUs.flag} µs`,
    '',
    'What it says to the model',
    `residentCollectives ${rules.residentCollectives}, hardware queues ${queues}, ` +
      `graphs ${rules.exclusiveGraphs ? 'wait for an idle device' : 'start beside collectives'}, ` +
      `module loading ${rules.moduleLoading}`,
    '',
    `written to ${file}; to use it:`,
    `npx ppcheck explore --variant capped --device-profile ${file}`,
  ].join('\n')
}
