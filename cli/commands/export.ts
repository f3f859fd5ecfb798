// `ppcheck export`: the machines that are explored, as pictures and as XState definitions. The text
// goes to stdout as it is, so that it can be piped into a file or a viewer.

import { toMermaid } from '../../sim/export/mermaid.ts'
import { fail } from '../../spec/error.ts'
import { programOf } from '../../spec/program.ts'
import { createRankMachine } from '../../spec/rank-machine.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'
import { scenariosFrom } from '../scenario-source.ts'

export async function run({ args, options }: Invocation): Promise<Report> {
  const [{ scenario }] = await scenariosFrom(args, options)
  const { protocol, topology } = scenario
  const { pp } = topology
  const rank = options.rank ?? pp - 1
  if (rank >= pp) fail('PPC101', `rank must be below pp ${pp}, got ${rank} (--rank)`)
  const format = options.format ?? 'mermaid'
  const text =
    format === 'mermaid'
      ? toMermaid(protocol, rank, pp)
      : JSON.stringify(createRankMachine(programOf(protocol, rank, pp)).definition, null, 2)
  return {
    command: 'export',
    exitCode: exitCodes.holds,
    data: { format, rank, text },
    text: () => text.trimEnd(),
  }
}
