// `ppcheck init`: writes a commented ppcheck.config.ts in the current folder. Never overwrites one
// unless told to.

import { existsSync } from 'node:fs'
import { fail } from '../../spec/error.ts'
import { writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'

const configFile = 'ppcheck.config.ts'

export const run = ({ options }: Invocation): Report => {
  const replaced = existsSync(configFile)
  if (replaced && options.force !== true) {
    fail('PPC108', `${configFile} exists already`, 'ppcheck init --force overwrites it')
  }
  writeFileAtomically(configFile, configText)
  return {
    command: 'init',
    exitCode: exitCodes.holds,
    data: { file: configFile, replaced },
    text: (paint) => `${replaced ? 'replaced' : 'wrote'} ${paint.bold(configFile)}`,
  }
}

/** The keys of a scenario are those of the options: --launch-order is launchOrder. */
export const configText = `\
// What ppcheck checks in this repository. Every scenario names a variant of the token broadcast
// and the assumptions under which it is checked, and says what is expected of it. A key means what
// the option of the same name means: launchOrder is --launch-order.

export default {
  scenarios: [
    {
      // The window capped at pp looked fixed for an hour on real GPUs. It is not.
      name: 'the-cap-alone',
      variant: 'capped',
      pp: 4,
      // Assumptions about the device, which no protocol can choose.
      resident: 2,
      metadata: 'none',
      launchOrder: 'free',
      expect: 'deadlock',
    },
    {
      // Tokens on a CPU transport, receives deferred, drafts executed eagerly.
      name: 'stabilized',
      variant: 'stabilized',
      pp: 4,
      resident: 2,
      metadata: 'none',
      launchOrder: 'free',
      expect: 'ok',
    },
    // {
    //   // Your own protocol, from a file that exports a scenario.
    //   name: 'my-engine',
    //   file: './my-engine.protocol.ts',
    //   expect: 'ok',
    // },
  ],
}
`
