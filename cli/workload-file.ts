// Reads a file with the traffic of a soak. Every field may be left out: it is then as in the
// report's stress run. What is there is checked strictly: a misspelt field would mean nothing.

import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { type SoakOptions, stressShape } from '../sim/soak.ts'
import { fail } from '../spec/error.ts'

const count = (max: number) => z.int().min(0).max(max)
const positive = (max: number) => z.int().min(1).max(max)
const us = z.number().min(0).max(1e9)

const range = (max: number) =>
  z
    .tuple([positive(max), positive(max)])
    .refine(([low, high]) => low <= high, 'the first must not be larger than the second')

const schema = z.strictObject({
  iterations: positive(10_000_000).optional(),
  rows: positive(1024).optional(),
  tokenBudget: positive(1_000_000).optional(),
  cacheTokens: positive(1e9).optional(),
  traffic: z
    .strictObject({
      streams: range(1024),
      requestsPerStream: positive(1024),
      longPrompt: range(10_000_000),
      longRequests: count(100_000),
      shortPrompt: range(10_000_000),
      lengthFinishes: count(100_000),
      stops: count(100_000),
      aborts: count(100_000),
      maxTokens: range(10_000_000),
    })
    .partial()
    .optional(),
  costs: z
    .strictObject({
      hostUs: us,
      forwardUs: us,
      forwardPerTokenUs: us,
      draftUs: us,
      otherKernelUs: us,
      pairUs: us,
      pairPerTokenUs: us,
      collectiveUs: us,
      cpuCollectiveUs: us,
      dispatchUs: us,
      replyUs: us,
      hiccupEvery: positive(1e9),
      hiccupUs: us,
    })
    .partial()
    .optional(),
})

type Shape = Omit<SoakOptions, 'seed'>

/**
 * The shape of a soak.
 * @param file JSON; undefined: the report's stress run.
 * @throws PpcheckError PPC109 if the file cannot be read, PPC111 if it says something else.
 */
export function workloadShape(file: string | undefined): Shape {
  if (file === undefined) return stressShape
  const parsed = schema.safeParse(parse(file))
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues
    fail('PPC111', `${file}: ${path.join('.') || 'the file'}: ${message} (--workload)`)
  }
  const { traffic, costs, ...rest } = parsed.data
  const merged = { ...stressShape.traffic, ...defined(traffic ?? {}) }
  const { lengthFinishes, stops, aborts, longRequests } = merged
  const total = lengthFinishes + stops + aborts
  if (total === 0) fail('PPC111', `${file}: traffic: no request ever ends, so none is sent`)
  if (longRequests > total) {
    fail('PPC111', `${file}: traffic: ${longRequests} long requests of ${total} (--workload)`)
  }
  return {
    ...stressShape,
    ...defined(rest),
    traffic: merged,
    costs: { ...stressShape.costs, ...defined(costs ?? {}) },
  }
}

function parse(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fail('PPC109', `cannot read ${file}: ${reason} (--workload)`)
  }
  try {
    return JSON.parse(text)
  } catch {
    return fail('PPC111', `${file}: not JSON (--workload)`)
  }
}

/** Without the fields that are undefined, which would overwrite a default. */
const defined = <T extends object>(fields: T): { [Key in keyof T]: NonNullable<T[Key]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: NonNullable<T[Key]>
  }
