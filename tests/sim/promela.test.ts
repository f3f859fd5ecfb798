// The Promela export by itself: what it refuses, and that what it writes can be read. Whether it
// says the same as the checker is asked of SPIN (tests/laws/spin-oracle.test.ts).

import { describe, expect, test } from 'vitest'
import { toPromela } from '../../sim/export/promela.ts'
import { done, launch, poll } from '../../spec/operation.ts'
import { fieldScenario, variantNames } from '../../spec/protocols/index.ts'
import type { Scenario } from '../../spec/scenario.ts'

const scenarioOf = (variant: string, pp = 3): Scenario =>
  fieldScenario(variant, { pp, workload: { steps: 2 } })

/** The scenario with one more operation at the end of the last rank's sample call. */
function withOperation(operation: ReturnType<typeof launch> | ReturnType<typeof poll>): Scenario {
  const scenario = scenarioOf('stabilized')
  const { last } = scenario.protocol.roles
  const roles = {
    ...scenario.protocol.roles,
    last: { ...last, sample: [...last.sample, operation] },
  }
  return { ...scenario, protocol: { ...scenario.protocol, roles } }
}

describe('what is written', () => {
  test.each(variantNames)('%s: one process a host, a stream and a communicator', (variant) => {
    const text = toPromela(scenarioOf(variant))
    expect(toPromela(scenarioOf(variant))).toBe(text)
    for (const name of ['engine', 'rank_0_host', 'rank_2_main', 'link_gpu_neighbour_0_1']) {
      expect(text).toContain(`active proctype ${name}() {`)
    }
    expect(text).not.toMatch(/undefined|NaN/)
  })

  test('a full graph needs a device without collectives', () => {
    const guard = 'resident_2 == 0'
    expect(toPromela(scenarioOf('capped'))).toContain(guard)
    expect(toPromela(scenarioOf('stabilized'))).not.toContain(guard)
  })

  test('a post that meets another payload fails an assertion', () => {
    const script = [{ proposal: false }, {}]
    const at = (variant: string) =>
      toPromela(fieldScenario(variant, { pp: 2, workload: { steps: 2, script } }))
    expect(at('upstream-fork')).toContain('assert(false)')
    expect(at('fixed-four')).not.toContain('assert(false)')
  })

  test('choices that no operation can tell apart are one', () => {
    const choices = [{}, { proposal: false }]
    const scenario = fieldScenario('stabilized', { pp: 2, workload: { steps: 2, choices } })
    expect(toPromela(scenario)).toBe(toPromela(scenarioOf('stabilized', 2)))
  })
})

describe('what is refused', () => {
  const steps = { steps: 2 }
  test.each<[string, () => Scenario]>([
    ['an endless run', () => fieldScenario('capped', { pp: 2 })],
    [
      'faults',
      () => fieldScenario('capped', { pp: 2, workload: steps, faults: [{ kind: 'die' }] }),
    ],
    [
      'eager sends',
      () => fieldScenario('capped', { pp: 2, workload: steps, device: { eager: 1 } }),
    ],
    [
      'hardware queues',
      () => fieldScenario('capped', { pp: 2, workload: steps, device: { hardwareQueues: 2 } }),
    ],
    [
      'lazy module loading',
      () => fieldScenario('capped', { pp: 2, workload: steps, device: { moduleLoading: 'lazy' } }),
    ],
    [
      'choices that matter',
      () =>
        fieldScenario('upstream-fork', {
          pp: 2,
          workload: { steps: 2, choices: [{}, { mask: 'empty' }] },
        }),
    ],
    ['a window that is not kept', () => ({ ...scenarioOf('capped'), engineWindow: 7 })],
    ['polls', () => withOperation(poll(done('draft')))],
    ['buffers', () => withOperation(launch('write', { stream: 'main', writes: ['logits'] }))],
  ])('%s', (_, scenario) => {
    expect(() => toPromela(scenario())).toThrow(expect.objectContaining({ code: 'PPC206' }))
  })
})
