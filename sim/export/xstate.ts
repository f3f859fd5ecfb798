// A rank's machine as XState's own JSON: what `createMachine` takes, for Stately's editor or for a
// program of one's own. Guards and effects are names with parameters; nothing is lost on the way.

import { assert } from '../../spec/error.ts'
import { createRankMachine } from '../../spec/rank-machine.ts'
import type { World } from '../world.ts'

/** The definition of one rank's machine. Pure data: it survives JSON. */
export function xstateDefinition(world: World, rank: number): Readonly<Record<string, unknown>> {
  assert(rank >= 0 && rank < world.pp, `there is no rank ${rank}`)
  const { config } = createRankMachine(world.ranks[rank].model.program)
  return JSON.parse(JSON.stringify(config))
}
