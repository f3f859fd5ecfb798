// `npm test`: installs the tools that some tests need, builds, and runs the tests. A tool that
// cannot be had is never fatal: the tests that need it are skipped, and this says so by name.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What is needed beyond npm's packages. A new need is one line here. */
const tools = [
  { part: 'SPIN oracle', program: 'spin', debianPackage: 'spin' },
  { part: 'live runs', file: '/usr/include/gloo/context.h', debianPackage: 'libgloo-dev' },
]

const root = fileURLToPath(new URL('..', import.meta.url))

const onPath = (program) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

const missing = () =>
  tools.filter(({ program, file }) => !(file === undefined ? onPath(program) : existsSync(file)))

/** Runs apt-get quietly; its log is shown only when it fails. Returns whether it succeeded. */
const aptGet = (...args) => {
  const result = spawnSync('apt-get', args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: 300_000,
  })
  if (result.status !== 0) process.stderr.write(`${result.stderr ?? ''}\n`)
  return result.status === 0
}

const installMissing = () => {
  const packages = missing().map(({ debianPackage }) => debianPackage)
  if (packages.length === 0) return
  const command = `apt-get install -y --no-install-recommends ${packages.join(' ')}`
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    console.log(`installing ${packages.join(', ')}`)
    if (aptGet('update')) aptGet(...command.split(' ').slice(1))
  }
  for (const { part, program, file } of missing()) {
    console.log(`skipped: ${part} (no ${program ?? file}; to run it: ${command})`)
  }
}

/** Runs a Node.js program of node_modules to its end; leaves with its exit code if it fails. */
const run = (script, args) => {
  const file = join(root, 'node_modules', script)
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

installMissing()
// The tests of the command line run dist/; a build that is up to date costs a second.
run('typescript/bin/tsc', ['-b'])
run('../backend-cuda/native/cuda/build.mjs', [])
run('../backend-cuda/native/gloo/build.mjs', [])
run('vitest/vitest.mjs', ['run', ...process.argv.slice(2)])
