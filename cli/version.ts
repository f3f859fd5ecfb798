// The version that `--version` and reports print. Read from package.json, and written only there.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

let cached: string | undefined

/** `0.1.0`. From dist/cli/ the package is two folders up, from the sources (in tests) one. */
export const version = (): string => {
  if (cached === undefined) {
    const inDist = import.meta.url.endsWith('.js')
    const file = new URL(inDist ? '../../package.json' : '../package.json', import.meta.url)
    cached = String(JSON.parse(readFileSync(fileURLToPath(file), 'utf8')).version)
  }
  return cached
}
