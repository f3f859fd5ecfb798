// The law of the round trip: what the simulator wedges, exported as dumps of which a part is lost,
// is diagnosed as what it truly was; and where it is not, the diagnosis is not sure.

import { describe, expect, test } from 'vitest'
import { diagnose } from '../../sim/diagnosis/diagnose.ts'
import { flightDump } from '../../sim/diagnosis/flight-recorder.ts'
import { readPickle } from '../../sim/diagnosis/pickle.ts'
import { flightRecorderDump, pickle } from '../../sim/export/flight-recorder.ts'
import {
  evidenceAfter,
  firstDivergence,
  type Loss,
  type Place,
  type Wedge,
  wedgeOf,
} from './wedges.ts'

const wedgesWanted = 200
/** What is as good as "it may be somebody else": said of every finding that a loss can mislead. */
const unsure = 0.6

const wedges: { wedge: Wedge; truth: Place }[] = []
for (let seed = 1; wedges.length < wedgesWanted; seed++) {
  const wedge = wedgeOf(seed)
  const truth = wedge && firstDivergence(wedge)
  if (wedge !== undefined && truth !== undefined) wedges.push({ wedge, truth })
}

const losses: readonly [string, (wedge: Wedge) => Loss][] = [
  ['nothing lost', () => ({ kind: 'none' })],
  ['one dump removed', (wedge) => ({ kind: 'removed', ...lossOf(wedge) })],
  ['one dump truncated', (wedge) => ({ kind: 'truncated', ...lossOf(wedge) })],
  ['a ring of 8 entries', () => ({ kind: 'ring' })],
]

const lossOf = ({ seed, scenario }: Wedge) => ({
  rank: seed % scenario.topology.pp,
  share: (seed % 97) / 97,
})

describe('200 random wedges', () => {
  test('are of many kinds', () => {
    const faults = new Set(wedges.map(({ wedge }) => wedge.fault?.kind))
    const sizes = new Set(wedges.map(({ wedge }) => wedge.scenario.topology.pp))
    const variants = new Set(wedges.map(({ wedge }) => wedge.scenario.name))
    expect(faults.size).toBeGreaterThanOrEqual(6)
    expect(sizes.size).toBe(5)
    expect(variants.size).toBeGreaterThanOrEqual(6)
  })

  test.each(losses)('%s: the first divergence is named, or nothing is sure', (_name, lossFrom) => {
    const wrong: string[] = []
    const tooSure: string[] = []
    for (const { wedge, truth } of wedges) {
      const { divergence, culprits } = diagnose(evidenceAfter(wedge, lossFrom(wedge)))
      const named =
        divergence?.communicator === truth.communicator && divergence.sequence === truth.sequence
      if (!named) wrong.push(`seed ${wedge.seed}`)
      // A rank that stopped and never posted the operation must be among those that are blamed.
      const { fault } = wedge
      const stopped = fault !== undefined && /^(stall|die)$/.test(fault.kind)
      const isBlamed = culprits.some(({ rank }) => rank === fault?.rank)
      const missed = stopped && truth.behind.includes(fault.rank) && !isBlamed
      const surest = Math.max(0, ...culprits.map(({ confidence }) => confidence))
      if ((!named || missed) && surest > unsure) tooSure.push(`seed ${wedge.seed}`)
    }
    expect(wrong.length, wrong.join(', ')).toBeLessThanOrEqual(0.05 * wedges.length)
    expect(tooSure).toEqual([])
  })
})

describe('the dump itself', () => {
  test('is version 2.10 and holds what was posted, in order', () => {
    for (const { wedge } of wedges.slice(0, 40)) {
      for (let rank = 0; rank < wedge.scenario.topology.pp; rank++) {
        const dump = flightDump(readPickle(flightRecorderDump(wedge.run, rank)).value)
        expect(dump.version).toBe('2.10')
        const posted = wedge.run.ranks[rank].filter(
          ({ channel }) => !channel.pair || channel.device,
        )
        expect(dump.entries.map(({ completed }) => completed)).toEqual(
          posted.map(({ state }) => state === 'completed'),
        )
      }
    }
  })

  test('a ring keeps the newest', () => {
    const { run } = wedges[0].wedge
    const whole = flightDump(readPickle(flightRecorderDump(run, 0)).value).entries
    const ring = flightDump(readPickle(flightRecorderDump(run, 0, { ring: 3 })).value).entries
    expect(ring).toEqual(whole.slice(-3))
  })

  test('text and numbers of every size come back', () => {
    const value = { a: [1, -1, 2 ** 31 - 1, null, true, false, 'ä€😀'] }
    const read = readPickle(pickle(value)).value as { get(key: string): unknown }
    expect(read.get('a')).toEqual(value.a)
  })
})
