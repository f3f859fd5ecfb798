// `npm run test:sanitized`: the tests of the GPU half once more, with an addon and an emulation
// that are built with ASAN and UBSAN. The live runs' processes inherit the sanitizers.

import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const compiler = process.env.CXX ?? 'c++'
const runtime = (name) =>
  execFileSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()

const run = (args, environment = {}) => {
  const options = { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } }
  const { status } = spawnSync(process.execPath, args, options)
  if (status !== 0) process.exit(status ?? 1)
}

run(['backend-cuda/native/cuda/build.mjs', '--sanitize', '--required'])
const tests = ['device', 'run', 'faults'].map((name) => `tests/backend-gpu/${name}.test.ts`)
run(['node_modules/vitest/vitest.mjs', 'run', ...tests], {
  LD_PRELOAD: `${runtime('libasan.so')} ${runtime('libubsan.so')}`,
  PPCHECK_CUDA_BUILD: 'build-sanitized',
  // Node.js itself leaks at its end; leaks of the addon are looked for in cycles.cc.
  ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=1',
  UBSAN_OPTIONS: 'halt_on_error=1:print_stacktrace=1',
})
