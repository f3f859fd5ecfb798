// The shape of every operation, as a schema: a protocol file is written by hand, and a misspelt
// field must be an error that names its place, not a program in which something is missing.

import { z } from 'zod'

const name = z.string().min(1)
const stepsAgo = z.union([z.int().min(0).max(60), z.literal('pp')])
const rank = z.int().min(0).max(63)
const peer = z.union([z.enum(['previous', 'next', 'first', 'last']), rank])
const dimension = z.union([z.int().min(0).max(1e9), z.enum(['R', 'K', 'K+1'])])
const facts = z.array(
  z.enum([
    'mask',
    'no-mask',
    'proposal',
    'no-proposal',
    'first-use',
    'not-first-use',
    'tokens',
    'no-tokens',
  ]),
)
const work = z.strictObject({ operation: name, stepsAgo })
const guarded = { when: facts.optional() }
const buffers = { reads: z.array(name).optional(), writes: z.array(name).optional() }
const transfer = {
  ...guarded,
  ...buffers,
  name,
  communicator: name,
  stream: name,
  dtype: z.enum(['int64', 'int32', 'bfloat16']),
  shape: z.array(dimension).min(1),
  stepsAgo: stepsAgo.optional(),
  thread: name.optional(),
}

const forms = {
  launch: {
    ...guarded,
    ...buffers,
    name,
    stream: name,
    exclusive: z.boolean().optional(),
    loadsModule: z.boolean().optional(),
  },
  broadcast: {
    ...transfer,
    root: z.union([z.enum(['first', 'last']), rank]),
    header: z
      .strictObject({
        fields: z.array(z.enum(['seq', 'mask_hash', 'num_reqs', 'row_digest'])),
        sequence: z.enum(['before-enqueue', 'after-enqueue']),
      })
      .optional(),
  },
  collective: transfer,
  send: { ...transfer, peer },
  receive: { ...transfer, peer },
  'stream-wait': { ...guarded, stream: name, for: work },
  'host-wait': { ...guarded, for: work },
  poll: { ...guarded, for: work },
  rendezvous: { ...guarded, name, peer },
  reply: { ...guarded, after: work },
  pend: guarded,
  consume: {
    ...guarded,
    on: name,
    stepsAgo: z.union([z.int().min(1).max(60), z.literal('pp')]),
    after: name,
    adopts: z.array(name),
    checks: name.optional(),
    generationCheck: z.boolean(),
  },
  'check-header': { ...guarded, header: name },
  release: { ...guarded, buffer: name },
  read: { ...guarded, buffer: name },
  'free-rows': guarded,
  raise: { ...guarded, why: z.string() },
} as const

/** Names of all operations. */
export const operationNames = Object.keys(forms)

const schemas = new Map(
  Object.entries(forms).map(([form, fields]) => [
    form,
    z.strictObject({ do: z.literal(form), ...fields }),
  ]),
)

/** What is wrong with a value as an operation, or undefined. Never throws. */
export function operationProblem(value: unknown): string | undefined {
  if (value === null || typeof value !== 'object') return 'must be an operation'
  const form = (value as { do?: unknown }).do
  const schema = typeof form === 'string' ? schemas.get(form) : undefined
  if (schema === undefined) {
    return `unknown operation ${typeof form === 'string' ? form : typeof form}`
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return undefined
  const { issues } = parsed.error
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  const where = issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''
  return `${form}: ${where}${issue.message}`
}
