// Runs the built command as a process, for tests.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Runs `ppcheck` with these words, uncoloured. */
export const ppcheck = (...args: string[]) => ppcheckIn(process.cwd(), ...args)

/** The same in another folder. */
export function ppcheckIn(cwd: string, ...args: string[]) {
  const { FORCE_COLOR: _, ...env } = process.env
  const options = { encoding: 'utf8', env, cwd } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { status, stdout, stderr }
}

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ppcheck-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
