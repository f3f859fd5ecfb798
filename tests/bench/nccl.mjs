// What machine and addon cost: four broadcasts a step on the emulated device, driven by the rank's
// machine through the addon, against a C++ loop over the same libraries. Medians of pairs that are
// run one after the other, and their ratio. `node tests/bench/nccl.mjs [ranks] [pairs]`

import { execFileSync, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadGpuLibraries } from '../../dist/backend-cuda/cuda-addon.js'
import {
  broadcast,
  checkHeader,
  consume,
  defineProtocol,
  done,
  hostWait,
  pend,
} from '../../dist/spec/index.js'

const [ranks = 4, pairs = 5] = process.argv.slice(2).map(Number)
const steps = 3000
const depth = 8
const here = fileURLToPath(new URL('.', import.meta.url))
const native = join(here, '../../backend-cuda/native/cuda')

const tokens = { communicator: 'token', stream: 'broadcast', root: 'last' }
const payloads = [
  broadcast('header', {
    ...tokens,
    dtype: 'int64',
    shape: [3],
    header: { fields: ['seq', 'mask_hash', 'num_reqs'], sequence: 'before-enqueue' },
  }),
  broadcast('sampled', { ...tokens, dtype: 'int64', shape: ['R', 'K+1'] }),
  broadcast('counts', { ...tokens, dtype: 'int32', shape: [2, 'R'] }),
  broadcast('drafts', { ...tokens, dtype: 'int64', shape: ['R', 'K'] }),
]
const protocol = defineProtocol({
  name: 'tokens-only',
  summary: 'the four broadcasts of a step and nothing else',
  communicators: { token: { kind: 'group' } },
  roles: {
    last: { execute: [hostWait(done('drafts', depth))], sample: payloads },
    others: {
      execute: [
        consume({
          on: 'host',
          stepsAgo: depth,
          after: 'drafts',
          adopts: ['sampled', 'counts', 'drafts'],
          generationCheck: true,
        }),
      ],
      sample: [payloads[0], checkHeader('header'), ...payloads.slice(1), pend()],
    },
  },
})

const found = loadGpuLibraries({ device: 'emulated' })
if (!found.available) {
  process.stdout.write(`skipped: ${found.reason}\n`)
  process.exit(0)
}
const { addon, handle } = found.libraries

const throughMachines = async () => {
  const id = addon.uniqueId(handle).toString('base64')
  const rates = await Promise.all(
    Array.from({ length: ranks }, (_, rank) => {
      const child = fork(join(here, 'nccl-rank.mjs'))
      child.send({ protocol, id, rank, ranks, steps, depth })
      return new Promise((resolve, reject) => {
        child.once('message', resolve)
        child.once('exit', (code) => reject(new Error(`rank ${rank} ended with ${code}`)))
      })
    }),
  )
  return rates[0].rate
}

const folder = mkdtempSync(join(tmpdir(), 'ppcheck-bench-'))
const program = join(folder, 'nccl-loop')
const sources = [join(here, 'nccl-loop.cc'), join(native, 'libraries.cc')]
execFileSync('c++', ['-std=c++17', '-O2', '-pthread', '-o', program, ...sources, '-ldl'])
const libraries = ['libcuda.so.1', 'libnccl.so.2'].map((name) => join(native, 'build', name))
const throughLoop = () =>
  Number(execFileSync(program, [...libraries, String(ranks), String(steps), String(depth)]))

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const results = []
for (let pair = 0; pair < pairs; pair++) {
  results.push({ loop: throughLoop(), machine: await throughMachines() })
}
rmSync(folder, { recursive: true })
const loop = median(results.map((each) => each.loop))
const machine = median(results.map((each) => each.machine))
const ratio = median(results.map((each) => each.machine / each.loop))
process.stdout.write(
  `four broadcasts a step, ${ranks} ranks, ${steps} steps, emulated device, ${pairs} pairs\n` +
    `C++ loop            ${loop.toFixed(0)} steps/s\n` +
    `machine and addon   ${machine.toFixed(0)} steps/s\n` +
    `ratio               ${ratio.toFixed(2)} (median of pairs)\n` +
    `overhead            ${(1e6 / machine - 1e6 / loop).toFixed(0)} µs a step\n`,
)
