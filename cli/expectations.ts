// The committed verdicts of a gate: what they are made of, how they are compared, and how the file
// is read and written. A state count is part of them, because one that changes in silence means
// that the model changed.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Verdict } from '../sim/search/check.ts'
import { fail } from '../spec/error.ts'
import { writeFileAtomically } from './atomic-file.ts'

/** Grows when verdicts of older files can no longer be compared with those of today. */
const formatVersion = 1

const verdictSchema = z.strictObject({
  outcome: z.enum(['holds', 'violated', 'inconclusive']),
  violated: z.array(z.string()),
  scope: z.string(),
  states: z.int().min(0),
  counterexample: z.string().nullable(),
})

const fileSchema = z.strictObject({
  format: z.int(),
  scenarios: z.record(z.string(), verdictSchema),
})

export type ExpectedVerdict = z.infer<typeof verdictSchema>

/** What of a verdict is committed. */
export const expectedOf = ({
  outcome,
  counterexamples,
  scope,
  states,
}: Verdict): ExpectedVerdict => ({
  outcome,
  violated: counterexamples.map(({ property }) => property),
  scope: scope.kind === 'steps' ? `steps ${scope.steps}` : scope.kind,
  states,
  counterexample: counterexamples.length === 0 ? null : hashOf(counterexamples[0].schedule),
})

const hashOf = (schedule: string): string =>
  createHash('sha256').update(schedule).digest('hex').slice(0, 16)

/** The differences in words, `states 18 → 21`; none if the two agree. */
export function differences(expected: ExpectedVerdict, actual: ExpectedVerdict): string[] {
  const keys = ['outcome', 'violated', 'scope', 'states', 'counterexample'] as const
  return keys.flatMap((key) => {
    const [before, now] = [String(expected[key] || 'none'), String(actual[key] || 'none')]
    return before === now ? [] : [`${key} ${before} → ${now}`]
  })
}

/**
 * Reads a file of expectations; one that does not exist expects nothing.
 * @throws PpcheckError PPC126 if it does not parse or belongs to another version.
 */
export function readExpectations(path: string): Map<string, ExpectedVerdict> {
  if (!existsSync(path)) return new Map()
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    fail('PPC126', `${path}: ${reason}`, 'ppcheck gate --update writes it anew')
  }
  const { format } = Object(value) as { format?: unknown }
  if (format !== formatVersion) {
    const hint = 'ppcheck gate --update writes it anew'
    fail('PPC126', `${path}: format ${String(format)}, this version reads ${formatVersion}`, hint)
  }
  const parsed = fileSchema.safeParse(value)
  if (!parsed.success) {
    const [{ path: where, message }] = parsed.error.issues
    fail('PPC126', `${path}: ${where.join('.')}: ${message}`)
  }
  return new Map(Object.entries(parsed.data.scenarios))
}

/** Writes expectations, sorted by name, so that a diff shows only what changed. */
export function writeExpectations(
  path: string,
  expectations: ReadonlyMap<string, ExpectedVerdict>,
): void {
  const sorted = [...expectations].sort(([a], [b]) => (a < b ? -1 : 1))
  const file = { format: formatVersion, scenarios: Object.fromEntries(sorted) }
  writeFileAtomically(path, `${JSON.stringify(file, null, 2)}\n`)
}
