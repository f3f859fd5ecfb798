// Simulator and emulated device say the same of generated NCCL scenarios: what holds in the
// model never wedges live, and what can wedge does, under some seed. `PPCHECK_FIDELITY=200`
// compares more.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runLive } from '../../backend-cuda/gpu-launcher.ts'
import { check } from '../../sim/search/check.ts'
import { fieldScenario } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'
import { missing } from './emulated-device.ts'

const compared = Number(process.env['PPCHECK_FIDELITY'] ?? 12)
/** Seeds of the device under which a wedge is looked for. */
const seedsTried = 4

const scenarios = fc
  .record({
    pp: fc.integer({ min: 2, max: 4 }),
    beyond: fc.constantFrom(0, 1),
    resident: fc.constantFrom(1, 2, 3),
    draft: fc.constantFrom('full-graph' as const, 'eager' as const),
    headerCheck: fc.constantFrom('host' as const, 'consume' as const),
    metadata: fc.constantFrom('none' as const, 'none' as const, 'rendezvous' as const),
    launchOrder: fc.constantFrom(
      'free' as const,
      'free' as const,
      'free' as const,
      'host-program' as const,
      'serial' as const,
    ),
    variant: fc.constantFrom('capped', 'capped', 'gloo-deferred', 'stabilized'),
  })
  .map(({ pp, beyond, resident, draft, headerCheck, metadata, launchOrder, variant }) =>
    fieldScenario(variant, {
      pp,
      window: pp + beyond,
      switches: { draftExecution: draft, headerCheck, activationMetadata: metadata },
      device: { residentCollectives: resident, launchOrder },
      // One batch: what is left to chance is the device.
      workload: { choices: [{}] },
      properties: ['P1'],
    }),
  )

const onDevice = async (scenario: Scenario, seed: number, watchdogMs: number): Promise<string> => {
  const { residentCollectives, launchOrder } = scenario.device
  const { outcome, reason } = await runLive({
    scenario,
    paths: { device: 'emulated' },
    steps: 40,
    seed,
    watchdogMs,
    // Short kernels, so that everything may overlap.
    forwardUs: 20,
    sampleUs: 5,
    draftUs: 20,
    activationBytes: 1024,
    inject: [],
    environment: {
      PPCHECK_EMULATED_RESIDENT: String(residentCollectives),
      PPCHECK_EMULATED_SEED: String(seed),
      ...(launchOrder === 'free' ? {} : { NCCL_LAUNCH_ORDER_IMPLICIT: '1' }),
      ...(launchOrder === 'serial' ? { PPCHECK_EMULATED_DRIVER: '12020' } : {}),
    },
  })
  return outcome === 'completed' || outcome === 'wedge' ? outcome : `${outcome}: ${reason}`
}

describe.skipIf(missing)(`simulator and emulation${missing ? ` (${missing})` : ''}`, () => {
  test(`agree on ${compared} generated scenarios`, { timeout: compared * 20_000 }, async () => {
    const counts = { holds: 0, wedges: 0, notReached: 0 }
    for (const scenario of fc.sample(scenarios, { numRuns: compared, seed: 11 })) {
      const holds = check(scenario).outcome === 'holds'
      const outcomes: string[] = []
      for (let seed = 0; seed < (holds ? 1 : seedsTried); seed++) {
        outcomes.push(await onDevice(scenario, seed, holds ? 15_000 : 1000))
        if (outcomes.at(-1) !== 'completed') break
      }
      const { name, topology, device, protocol: _protocol, ...rest } = scenario
      const where = JSON.stringify({ name, topology, device, properties: rest.properties })
      if (holds) {
        counts.holds++
        expect(outcomes, where).toEqual(['completed'])
      } else if (outcomes.at(-1) === 'wedge') {
        counts.wedges++
      } else {
        expect(
          outcomes.every((outcome) => outcome === 'completed'),
          where,
        ).toBe(true)
        counts.notReached++
      }
    }
    process.stderr.write(
      `fidelity: ${compared} compared; ${counts.holds} hold and completed, ${counts.wedges} can ` +
        `wedge and did, ${counts.notReached} can wedge and did not under ${seedsTried} seeds\n`,
    )
    expect(counts.holds).toBeGreaterThan(0)
    expect(counts.wedges).toBeGreaterThan(0)
  })
})
