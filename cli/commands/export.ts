// `ppcheck export`: the machine of a rank as it is explored, as a picture or in XState's own form;
// or the whole scenario, of bounded steps, as a model for SPIN, TLC or Apalache. The text goes to
// stdout bare, so that it can be piped into a file or a viewer.

import { mermaid } from '../../sim/export/mermaid.ts'
import { toPromela } from '../../sim/export/promela.ts'
import { toTla } from '../../sim/export/tla.ts'
import { xstateDefinition } from '../../sim/export/xstate.ts'
import { World } from '../../sim/world.ts'
import { fail } from '../../spec/error.ts'
import type { Invocation } from '../command.ts'
import { exportDumps } from '../diagnose/export-dumps.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'
import { scenariosFrom } from '../scenario-source.ts'

export async function run({ args, options }: Invocation): Promise<Report> {
  if (options.format === 'flight-recorder') return exportDumps(args, options)
  if (options.output !== undefined) {
    fail('PPC107', 'only flight-recorder dumps go to a folder (--output)', 'use > file')
  }
  const [{ scenario }, ...more] = await scenariosFrom(args, options)
  if (more.length > 0) {
    fail('PPC107', `one scenario is exported at a time, ${more.length + 1} are given`)
  }
  const { pp } = scenario.topology
  const rank = options.rank ?? pp - 1
  if (rank >= pp) {
    fail(
      'PPC101',
      `rank must be an integer from 0 to ${pp - 1} with pp ${pp}, got ${rank} (--rank)`,
    )
  }
  const format = options.format ?? 'mermaid'
  const write = {
    mermaid: () => mermaid(new World(scenario), rank),
    xstate: () => JSON.stringify(xstateDefinition(new World(scenario), rank), null, 2),
    promela: () => toPromela(scenario),
    tla: () => toTla(scenario),
  }
  const text = write[format]()
  return {
    command: 'export',
    exitCode: exitCodes.holds,
    data: { scenario: scenario.name, format, rank, text },
    text: () => text,
  }
}
