// Loads a configuration of the gate, like a protocol file.

import { existsSync } from 'node:fs'
import { fail } from '../spec/error.ts'
import { type GateEntry, gateConfigSchema } from '../spec/gate-config.ts'
import { loadFile } from './scenario-source.ts'

export interface LoadedConfig {
  readonly scenarios: readonly GateEntry[]
  readonly expected: string
}

/** @throws PpcheckError PPC125 if there is none, PPC111 if it is not a configuration. */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  if (!existsSync(file)) {
    fail('PPC125', `there is no ${file}`, 'write one: docs/ci.md shows how, or name it (--config)')
  }
  const loaded = await loadFile(file)
  const parsed = gateConfigSchema.safeParse(loaded['default'])
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues
    fail('PPC111', `${file}: ${path.join('.') || 'default export'}: ${message}`)
  }
  return parsed.data
}
