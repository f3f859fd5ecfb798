// A scenario: a protocol in a topology, on a device, under a workload and faults. The schema is the
// one description of the data part; the published JSON Schema is generated from it.

import { z } from 'zod'
import { fail } from './error.ts'
import { checkRanks, defineProtocol, type Protocol } from './program.ts'
import { propertyIds } from './properties.ts'

const positive = z.int().min(1)

/** How many ranks, how many steps in flight, how many drafts a step. */
export const topologySchema = z.strictObject({
  /** Pipeline size: number of ranks. */
  pp: z.int().min(2).max(30),
  /** Largest number of steps in flight (`max_concurrent_batches`). */
  window: z.int().min(1).max(63),
  /** Draft tokens a step, K. */
  drafts: z.int().min(0).default(5),
})

/** What is assumed of the device (page 2.3). A verdict speaks of these assumptions only. */
export const deviceSchema = z.strictObject({
  /** Collectives that can be resident (spin) on a device at the same time. */
  residentCollectives: positive.default(2),
  /** In which order collectives of different communicators may start on one device. */
  launchOrder: z.enum(['free', 'host-program', 'serial']).default('free'),
  /** Streams share so many hardware queues, round-robin in creation order; 0: one each. */
  hardwareQueues: z.int().min(0).default(0),
  /** A root may complete so many operations ahead of its receivers; 0: rendezvous. */
  eager: z.int().min(0).max(15).default(0),
  /** `lazy`: the first use of a kernel makes the host wait for a device without collectives. */
  moduleLoading: z.enum(['eager', 'lazy']).default('eager'),
})

/** One step's batch, as much of it as differs from the default (see `Batch`). */
export const batchSchema = z.strictObject({
  requests: z.int().min(0).max(4096).optional(),
  mask: z.union([z.enum(['full', 'empty']), z.array(z.boolean())]).optional(),
  proposal: z.boolean().optional(),
  rejected: z.int().min(0).optional(),
  rows: z.string().optional(),
  frees: z.boolean().optional(),
  empty: z.boolean().optional(),
  firstUse: z.boolean().optional(),
})
export type BatchInput = z.infer<typeof batchSchema>

/** What the engine is asked to do. */
export const workloadSchema = z.strictObject({
  /** Steps until the engine has nothing left; 0: it may go on for ever and go idle at any time. */
  steps: z.int().min(0).max(200).default(0),
  /** The batches of the first steps, in order. */
  script: z.array(batchSchema).default([]),
  /** What any later step may be: the environment chooses. */
  choices: z.array(batchSchema).min(1).default([{}]),
})

/** Faults of page 2.4. */
export const faultKinds = [
  'own-mask',
  'own-mask-collision',
  'own-batch',
  'own-num-reqs',
  'own-rows',
  'lost-rpc',
  'throw',
  'duplicate-post',
  'stall',
  'die',
  'draft-stall',
  'request-reused',
] as const
export type FaultKind = (typeof faultKinds)[number]

export const faultSchema = z.strictObject({
  kind: z.enum(faultKinds),
  /** Rank that is hit, or any: the environment chooses. */
  rank: z.union([z.int().min(0), z.literal('any')]).default('any'),
  /** Step (0-based) in which it strikes, or any: of the engine, or the hit rank's own. */
  step: z.union([z.int().min(0), z.literal('any')]).default('any'),
  /** For `own-batch`: what the rank is handed instead of the step's batch. */
  batch: batchSchema.optional(),
})
export type Fault = z.infer<typeof faultSchema>

/** The data part of a scenario. */
export const scenarioSchema = z.strictObject({
  name: z.string().min(1).default('scenario'),
  topology: topologySchema,
  device: deviceSchema.prefault({}),
  workload: workloadSchema.prefault({}),
  faults: z.array(faultSchema).default([]),
  /** How many faults may strike in one run. */
  faultsMax: z.int().min(0).max(8).default(1),
  /** Properties to check; all by default. */
  properties: z.array(z.enum(propertyIds)).min(1).optional(),
  /** The window that the engine really uses, if it is not the one that it promises (a mutant). */
  engineWindow: positive.optional(),
  /** What is expected, for gates: `ok` or the property that is violated. */
  expect: z.union([z.literal('ok'), z.enum(propertyIds)]).optional(),
})
export type ScenarioInput = z.input<typeof scenarioSchema> & { readonly protocol: Protocol }
export type Scenario = z.output<typeof scenarioSchema> & { readonly protocol: Protocol }

/**
 * Validates a scenario and fills in its defaults.
 * @throws PpcheckError PPC202 naming the key that is wrong, what was expected and what was given.
 */
export function defineScenario(input: ScenarioInput): Scenario {
  if (input === null || typeof input !== 'object') fail('PPC202', 'a scenario must be an object')
  const { protocol, ...data } = input
  if (protocol === undefined) fail('PPC202', 'a scenario needs a protocol (defineProtocol)')
  defineProtocol(protocol)
  const parsed = scenarioSchema.safeParse(data)
  if (!parsed.success) {
    const { issues } = parsed.error
    // A key that is not known explains the one that is missing.
    const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
    const where = issue.path.length > 0 ? issue.path.join('.') : 'scenario'
    fail('PPC202', `scenario ${JSON.stringify(data.name ?? '')}: ${where}: ${issue.message}`)
  }
  const scenario = { ...parsed.data, protocol }
  checkRanks(protocol, scenario.topology.pp)
  for (const fault of scenario.faults) {
    if ((fault.kind === 'own-batch') !== (fault.batch !== undefined)) {
      fail('PPC202', `faults: ${fault.kind}: own-batch, and no other fault, says which batch`)
    }
    if (fault.rank !== 'any' && fault.rank >= scenario.topology.pp) {
      fail('PPC202', `faults: rank ${fault.rank} does not exist with pp ${scenario.topology.pp}`)
    }
  }
  return scenario
}

/** The JSON Schema of the data part of a scenario. */
export const scenarioJsonSchema = () => z.toJSONSchema(scenarioSchema, { io: 'input' })
