// Where this package lies: the same answer for the sources, which tests run, and for dist/.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of package.json. */
export function packageFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  for (let folder = here; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
  }
  return here
}

/** The script of a process of its own. Node.js 20 runs no TypeScript, so it is the compiled one. */
export const scriptFile = (name: string): string =>
  join(packageFolder(), 'dist', 'backend-cuda', `${name}.js`)

/** Where the GPU half of the addon may lie: built here (tests choose which), or brought along. */
export const addonFolders = (): string[] => [
  join(packageFolder(), 'backend-cuda/native/cuda', process.env['PPCHECK_CUDA_BUILD'] ?? 'build'),
  join(packageFolder(), 'prebuilds', `${process.platform}-${process.arch}`),
]

/** The Gloo half. Always built where it runs: Debian's versions of Gloo differ in their classes. */
export const glooAddonFile = (): string =>
  join(packageFolder(), 'backend-cuda/native/gloo/build/ppcheck_gloo.node')
