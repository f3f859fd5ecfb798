// Compiles the Gloo half of the native code. It needs a C++17 compiler, Node's own headers and
// libgloo-dev. Compiled on the machine that runs it: Debian's versions of Gloo share a soname and
// differ in their classes. Runs when the package is installed; what is missing is said in one line
// and is never fatal, unless `--required` is given.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const target = join(here, 'build')
const addon = join(target, 'ppcheck_gloo.node')
const required = process.argv.includes('--required')

const giveUp = (reason) => {
  process.stderr.write(`ppcheck: the Gloo half is not built: ${reason}\n`)
  process.exit(required ? 1 : 0)
}

/** Headers lie beside node in its own tarball and in distributions; npm can name another place. */
const nodeHeaders = () =>
  [process.env.npm_config_nodedir, join(dirname(process.execPath), '..')]
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'include', 'node'))
    .find((folder) => existsSync(join(folder, 'node_api.h')))

if (process.platform !== 'linux') giveUp('live runs are for Linux only')
const headers = nodeHeaders()
if (headers === undefined) giveUp('no node_api.h beside node (set npm_config_nodedir)')
const roots = [process.env.GLOO_ROOT, '/usr/local', '/usr'].filter((root) => root !== undefined)
const gloo = roots.find((root) => existsSync(join(root, 'include/gloo/context.h')))
if (gloo === undefined) giveUp('no Gloo (apt-get install -y libgloo-dev && npm rebuild ppcheck)')

const names = readdirSync(here).filter((name) => /\.(cc|h|mjs)$/.test(name))
const newest = Math.max(...names.map((name) => statSync(join(here, name)).mtimeMs))
const library = statSync(join(gloo, 'include/gloo/context.h')).ctimeMs
const isFresh = existsSync(addon) && statSync(addon).mtimeMs > Math.max(newest, library)
if (isFresh) process.exit(0)

mkdirSync(target, { recursive: true })
const compiler = process.env.CXX ?? 'c++'
const { status, stderr, error } = spawnSync(
  compiler,
  [
    ...['-std=c++17', '-O2', '-g', '-fPIC', '-shared', '-pthread', '-fvisibility=hidden'],
    ...['-Wall', '-Wextra', '-DNAPI_VERSION=8', '-isystem', headers],
    ...(gloo === '/usr' ? [] : ['-isystem', join(gloo, 'include'), `-L${join(gloo, 'lib')}`]),
    ...['-o', addon, join(here, 'mesh.cc'), join(here, 'addon.cc'), '-lgloo'],
  ],
  { encoding: 'utf8' },
)
if (error !== undefined) giveUp(`${compiler} cannot be run (apt-get install -y g++)`)
if (status !== 0) giveUp(`${compiler} failed\n${stderr}`)
