// Compiles the GPU half: the addon, and the emulated driver and NCCL. They need a C++17 compiler
// and Node's own headers, and nothing of CUDA; so three commands do, and no build system is asked
// for. Runs when the package is installed. What is missing is said in one line and is never fatal,
// unless `--required` is given. `--sanitize` builds with ASAN and UBSAN into a folder of its own.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const emulation = join(here, '..', '..', 'emulation')
const sanitize = process.argv.includes('--sanitize')
const required = process.argv.includes('--required')
const target = join(here, sanitize ? 'build-sanitized' : 'build')

const giveUp = (reason) => {
  process.stderr.write(`ppcheck: the GPU half is not built: ${reason}\n`)
  process.exit(required ? 1 : 0)
}

/** Headers lie beside node in its own tarball and in distributions; npm can name another place. */
const headersFolder = () =>
  [process.env.npm_config_nodedir, join(dirname(process.execPath), '..')]
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'include', 'node'))
    .find((folder) => existsSync(join(folder, 'node_api.h')))

const sources = [here, emulation].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => /\.(cc|h|mjs)$/.test(name))
    .map((name) => join(folder, name)),
)

const isFresh = (files) => {
  if (!files.every((file) => existsSync(file))) return false
  const built = Math.min(...files.map((file) => statSync(file).mtimeMs))
  return sources.every((file) => statSync(file).mtimeMs < built)
}

const compiler = process.env.CXX ?? 'c++'
const flags = [
  ...['-std=c++17', '-O2', '-g', '-fPIC', '-shared', '-pthread'],
  ...['-fvisibility=hidden', '-Wall', '-Wextra'],
  ...(sanitize ? ['-fsanitize=address,undefined', '-fno-omit-frame-pointer'] : ['-Wl,-z,defs']),
]

const compile = (...args) => {
  const { status, stderr, error } = spawnSync(compiler, [...flags, ...args], { encoding: 'utf8' })
  if (error !== undefined) giveUp(`${compiler} cannot be run (apt-get install -y g++)`)
  if (status !== 0) giveUp(`${compiler} failed\n${stderr}`)
}

if (process.platform !== 'linux') giveUp('CUDA and NCCL are used on Linux only')
const headers = headersFolder()
if (headers === undefined) giveUp('no node_api.h beside node (set npm_config_nodedir)')

const driver = join(target, 'libcuda.so.1')
const nccl = join(target, 'libnccl.so.2')
const addon = join(target, 'ppcheck_cuda.node')
if (isFresh([driver, nccl, addon])) process.exit(0)

mkdirSync(target, { recursive: true })
const inEmulation = (...names) => names.map((name) => join(emulation, name))
compile('-Wl,-soname,libcuda.so.1', '-o', driver, ...inEmulation('engine.cc', 'driver.cc'))
compile(
  ...['-Wl,-soname,libnccl.so.2', '-Wl,-rpath,$ORIGIN', '-o', nccl],
  ...[...inEmulation('nccl.cc'), driver],
)
compile(
  // Node itself provides the N-API symbols when it loads the addon.
  ...['-Wl,-z,undefs', '-DNAPI_VERSION=8', '-isystem', headers, '-o', addon],
  ...['libraries.cc', 'device.cc', 'addon.cc'].map((name) => join(here, name)),
  '-ldl',
)
