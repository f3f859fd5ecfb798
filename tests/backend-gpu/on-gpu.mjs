// `npm run test:gpu`: the tests that need a GPU, with their figures in gpu-evidence.json. Where
// there is none they are skipped with the reason, and no file is written.

import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const isEmulated = process.env.PPCHECK_GPU_TESTS === 'emulated'
const file = isEmulated ? 'emulated-evidence.json' : 'gpu-evidence.json'
rmSync(file, { force: true })
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=verbose']
const { status } = spawnSync(process.execPath, [...vitest, 'tests/backend-gpu/gpu.test.ts'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PPCHECK_GPU_EVIDENCE: file },
})
process.stdout.write(existsSync(file) ? `evidence: ${file}\n` : 'no GPU: no evidence is written\n')
process.exit(status ?? 1)
