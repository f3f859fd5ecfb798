// The examples of docs/ are promises: each file loads as the command line loads it, breaks as its
// comments say, and its mended twin holds for runs of any length.

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createJiti } from 'jiti'
import { describe, expect, test } from 'vitest'
import { explain } from '../../sim/explain.ts'
import { replay } from '../../sim/replay.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import type { PropertyId } from '../../spec/properties.ts'
import type { Scenario } from '../../spec/scenario.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** The exports of an example; `ppcheck` means the sources, as it means dist/ when installed. */
const load = (name: string): Promise<Readonly<Record<string, Scenario>>> =>
  createJiti(import.meta.url, {
    alias: { ppcheck: pathOf('../../sim/public.ts') },
    fsCache: false,
  }).import(pathOf(`../../docs/examples/${name}.protocol.ts`))

/** Checks one property and tells how it breaks. */
function breaks(scenario: Scenario, property: PropertyId) {
  const verdict = check({ ...scenario, properties: [property] })
  const [counterexample] = verdict.counterexamples
  expect(counterexample?.property).toBe(property)
  return explain(replay(scenario, decodeSchedule(scenario, counterexample.schedule)))
}

function holds(scenario: Scenario): void {
  const { outcome, scope } = check(scenario)
  expect({ outcome, scope }).toEqual({
    outcome: 'holds',
    scope: { kind: 'exhaustive', runLength: 'any' },
  })
}

test('the examples type-check against what the package exports', () => {
  const folder = pathOf('../../docs/examples/')
  const files = readdirSync(folder).filter((file) => file.endsWith('.protocol.ts'))
  expect(files.length).toBeGreaterThan(2)
  const options = '--noEmit --strict --module nodenext --target es2023 --types node --skipLibCheck'
  const tsc = pathOf('../../node_modules/typescript/bin/tsc')
  const args = [tsc, '--ignoreConfig', ...options.split(' '), ...files]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  expect(stdout).toBe('')
  expect(status).toBe(0)
})

describe('missing-sender', async () => {
  const { default: buggy, mended } = await load('missing-sender')

  test('under load, the receivers wait for a broadcast that the last rank never posts', () => {
    const { story, standing } = breaks(buggy, 'P1')
    expect(story).toContain('Tokens of step 0 on rank 1 waits for rank 2 on token')
    expect(standing[0]).toContain('spinning: tokens of step 0')
    expect(standing[2]).not.toContain('tokens')
  })

  test('with one step and then nothing, the post stays unmatched', () => {
    const { story, hazard } = breaks(buggy, 'P10')
    expect(story).toContain('a post is missing')
    expect(hazard?.id).toBe('H1')
  })

  test('with the sender restored it holds', () => holds(mended))
})

describe('second-subsystem', async () => {
  const { default: buggy, crossed, mended } = await load('second-subsystem')
  const withPlaces = (scenario: Scenario, residentCollectives: number): Scenario => ({
    ...scenario,
    device: { ...scenario.device, residentCollectives },
  })

  test('the exchange and the tokens fill a device, and the activations cannot leave', () => {
    const { story, cycle, hazard } = breaks(buggy, 'P1')
    expect(story).toMatch(/send-activation .* cannot start: all 2 places of its device are taken/)
    expect(cycle.map(({ who }) => who).join()).toContain('expert-load of step 0 on rank 0')
    expect(hazard?.id).toBe('H3')
  })

  test('with a third place, or in launch order, it holds', () => {
    holds(withPlaces(buggy, 3))
    holds({ ...buggy, device: { ...buggy.device, launchOrder: 'host-program' } })
  })

  test('two orders of two communicators deadlock with any number of places', () => {
    for (const places of [2, 8]) {
      const { story } = breaks(withPlaces(crossed, places), 'P1')
      expect(story).toMatch(/stands behind (sampled|expert-load) on stream broadcast/)
    }
  })

  test('in the same order on one stream it holds', () => holds(mended))
})
