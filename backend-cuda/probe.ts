// Finds out what of the real world is here: libraries, driver, GPUs, tools. Looks at files and asks
// the dynamic loader's cache; must never load a library, start a GPU context or need a network.

import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { addonFolders, glooAddonFile } from './package-folder.ts'

export type ProbeName = 'node' | 'gloo' | 'gpu-addon' | 'cuda-driver' | 'nccl' | 'gpus' | 'spin'

/** One finding. A missing thing always says why it counts as missing and what mends it. */
export type Probe = {
  readonly name: ProbeName
  /** What it is for, in a few words. */
  readonly purpose: string
} & (
  | { readonly available: true; readonly found: string }
  | { readonly available: false; readonly reason: string; readonly remedy: string }
)

/** The questions that are put to the machine; tests answer them in its stead. */
export interface Host {
  readonly nodeVersion: string
  readonly environment: Readonly<Record<string, string | undefined>>
  exists(path: string): boolean
  executable(path: string): boolean
  /** File names in a folder; none if there is no such folder. */
  list(folder: string): readonly string[]
  /** What `ldconfig -p` prints; empty if it cannot be run. */
  loaderCache(): string
}

export const thisHost: Host = {
  nodeVersion: process.versions.node,
  environment: process.env,
  exists: (path) => existsSync(path),
  executable: (path) => {
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  },
  list: (folder) => {
    try {
      return readdirSync(folder)
    } catch {
      return []
    }
  },
  loaderCache: () => {
    // Users other than root often lack /sbin in PATH.
    for (const command of ['ldconfig', '/sbin/ldconfig']) {
      try {
        const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore']
        return execFileSync(command, ['-p'], { encoding: 'utf8', stdio, timeout: 5000 })
      } catch {}
    }
    return ''
  },
}

/** The oldest Node.js that the package supports (package.json, engines). */
const nodeVersionMin = [20, 19] as const

/** All probes, in the order in which they are printed. */
export const probeAll = (host: Host = thisHost): readonly Probe[] => [
  probeNode(host),
  probeGloo(host),
  probeAddon(host),
  probeDriver(host),
  probeNccl(host),
  probeGpus(host),
  probeSpin(host),
]

function probeNode(host: Host): Probe {
  const about = { name: 'node', purpose: 'runs ppcheck' } as const
  const [major, minor] = host.nodeVersion.split('.').map(Number)
  const [majorMin, minorMin] = nodeVersionMin
  const recent = major > majorMin || (major === majorMin && minor >= minorMin)
  if (recent) return { ...about, available: true, found: `Node.js ${host.nodeVersion}` }
  return {
    ...about,
    available: false,
    reason: `Node.js ${host.nodeVersion} is older than ${majorMin}.${minorMin}`,
    remedy: `nvm install ${majorMin}`,
  }
}

function probeGloo(host: Host): Probe {
  const about = { name: 'gloo', purpose: 'real CPU transport' } as const
  const roots = [host.environment['GLOO_ROOT'], '/usr/local', '/usr'].filter(isText)
  const header = roots
    .map((root) => join(root, 'include/gloo/context.h'))
    .find((path) => host.exists(path))
  const library =
    findLibrary(host, ['libgloo.so', 'libgloo.so.0', 'libgloo.a'], roots) ??
    findVersioned(host, 'libgloo.so.', roots)
  if (header !== undefined && library !== undefined) {
    const found = `${library}, ${header}`
    if (host.exists(glooAddonFile())) return { ...about, available: true, found }
    return {
      ...about,
      available: false,
      reason: `${library} is here, but the addon that calls it is not built`,
      remedy: 'apt-get install -y g++ && npm rebuild ppcheck',
    }
  }
  const missing = [
    header === undefined ? 'header gloo/context.h' : undefined,
    library === undefined ? 'library libgloo' : undefined,
  ].filter(isText)
  return {
    ...about,
    available: false,
    reason: `no ${missing.join(' and no ')}`,
    remedy: 'apt-get install -y libgloo-dev',
  }
}

function probeAddon(host: Host): Probe {
  const about = { name: 'gpu-addon', purpose: 'calls CUDA and NCCL, real or emulated' } as const
  const found = addonFolders()
    .map((folder) => join(folder, 'ppcheck_cuda.node'))
    .find((file) => host.exists(file))
  if (found !== undefined) return { ...about, available: true, found }
  return {
    ...about,
    available: false,
    reason: 'it is not built: there was no C++ compiler when ppcheck was installed',
    remedy: 'apt-get install -y g++ && npm rebuild ppcheck',
  }
}

function probeDriver(host: Host): Probe {
  const about = { name: 'cuda-driver', purpose: 'GPU memory and streams' } as const
  const found = findLibrary(host, ['libcuda.so.1'])
  if (found !== undefined) return { ...about, available: true, found }
  return {
    ...about,
    available: false,
    reason: 'no libcuda.so.1: the NVIDIA driver is not installed, or not mapped into a container',
    remedy: 'apt-get install -y nvidia-driver  (in a container: docker run --gpus all …)',
  }
}

function probeNccl(host: Host): Probe {
  const about = { name: 'nccl', purpose: 'real GPU collectives' } as const
  const chosen = host.environment['PPCHECK_NCCL_LIBRARY']
  if (isText(chosen) && !host.exists(chosen)) {
    return {
      ...about,
      available: false,
      reason: `PPCHECK_NCCL_LIBRARY names ${chosen}, which does not exist`,
      remedy: 'unset PPCHECK_NCCL_LIBRARY',
    }
  }
  const found = isText(chosen) ? chosen : findLibrary(host, ['libnccl.so.2'])
  if (found !== undefined) return { ...about, available: true, found }
  return {
    ...about,
    available: false,
    reason: 'no libnccl.so.2',
    // The wheel carries the library on systems whose package archive has none.
    remedy:
      'apt-get install -y libnccl2  (or pip install nvidia-nccl-cu12 and set PPCHECK_NCCL_LIBRARY)',
  }
}

function probeGpus(host: Host): Probe {
  const about = { name: 'gpus', purpose: 'ranks on devices' } as const
  const count = host.list('/dev').filter((entry) => /^nvidia\d+$/.test(entry)).length
  if (count > 0) {
    return { ...about, available: true, found: `${count} GPU${count === 1 ? '' : 's'}` }
  }
  return {
    ...about,
    available: false,
    reason: 'no /dev/nvidia0: no NVIDIA GPU, or its driver is not loaded',
    remedy: 'modprobe nvidia  (in a container: docker run --gpus all …)',
  }
}

function probeSpin(host: Host): Probe {
  const about = { name: 'spin', purpose: 'second opinion on exported models' } as const
  const folders = (host.environment['PATH'] ?? '').split(delimiter).filter(isText)
  const found = folders.map((folder) => join(folder, 'spin')).find((path) => host.executable(path))
  if (found !== undefined) return { ...about, available: true, found }
  return {
    ...about,
    available: false,
    reason: 'no spin on PATH',
    remedy: 'apt-get install -y spin',
  }
}

const isText = (text: string | undefined): text is string => text !== undefined && text !== ''

/** Where libraries are looked for: the loader's own order, then the usual folders. */
function libraryFolders(host: Host, roots: readonly string[]): readonly string[] {
  const own = (host.environment['LD_LIBRARY_PATH'] ?? '').split(':').filter(isText)
  const usual = roots.flatMap((root) =>
    ['lib', 'lib64', 'lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu'].map((sub) => join(root, sub)),
  )
  return [...own, ...usual, '/usr/local/cuda/lib64', '/usr/local/nvidia/lib64', '/usr/lib/wsl/lib']
}

/** The path of the first of `names` that the loader would find, or that lies in a usual folder. */
function findLibrary(
  host: Host,
  names: readonly string[],
  roots: readonly string[] = ['/usr/local', '/usr'],
): string | undefined {
  const folders = libraryFolders(host, roots)
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)))
  const onDisk = paths.find((path) => host.exists(path))
  if (onDisk !== undefined) return onDisk
  // Lines read `\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1`.
  for (const line of host.loaderCache().split('\n')) {
    const [name, path] = line.trim().split(/ \(.*\) => /)
    if (path !== undefined && names.includes(name)) return path
  }
  return undefined
}

/** A library whose file name carries its version, `libgloo.so.0.5`. */
function findVersioned(host: Host, prefix: string, roots: readonly string[]): string | undefined {
  for (const folder of libraryFolders(host, roots)) {
    const name = host.list(folder).find((each) => each.startsWith(prefix))
    if (name !== undefined) return join(folder, name)
  }
  return undefined
}
