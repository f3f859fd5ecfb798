// What `ppcheck gate` checks, as a user writes it in ppcheck.config.ts. Validated strictly: a
// misspelt field would silently gate nothing.

import { z } from 'zod'
import { propertyIds } from './properties.ts'

const positive = z.int().min(1)

const entrySchema = z.strictObject({
  /** A name of one's own; by default the scenario with its options. */
  name: z.string().min(1).optional(),
  /** A variant, `museum:<case>`, or a file with `#name` as for `ppcheck explore`. */
  scenario: z.string().min(1),
  pp: positive.optional(),
  window: positive.optional(),
  resident: positive.optional(),
  steps: positive.optional(),
  requests: positive.optional(),
  metadata: z.enum(['none', 'rendezvous']).optional(),
  launchOrder: z.enum(['free', 'host-program', 'serial']).optional(),
  faults: z.array(z.string()).optional(),
  properties: z.array(z.enum(propertyIds)).optional(),
  /** What must come out; left out: whatever the expectations say. */
  expect: z.union([z.literal('holds'), z.enum(propertyIds)]).optional(),
  maxStates: positive.optional(),
})

export const gateConfigSchema = z.strictObject({
  scenarios: z.array(entrySchema).min(1),
  /** Where verdicts are committed, relative to the configuration. */
  expected: z.string().min(1).default('ppcheck.expected.json'),
})

/** What a `ppcheck.config.ts` exports by default. */
export type GateConfig = z.input<typeof gateConfigSchema>
export type GateEntry = z.infer<typeof entrySchema>

/** For an editor's sake: gives a configuration its type and returns it unchanged. */
export const defineConfig = (config: GateConfig): GateConfig => config

/** The name that an entry is known by in expectations and reports. */
export function entryName(entry: GateEntry): string {
  if (entry.name !== undefined) return entry.name
  const { scenario, expect: _, maxStates: __, name: ___, ...options } = entry
  const words = Object.entries(options).map(([key, value]) => `${key} ${String(value)}`)
  return [scenario, ...words].join(', ')
}
