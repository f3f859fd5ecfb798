// `ppcheck init`: writes a commented protocol file to start from into the current folder. The text
// is the example of docs/ itself, which the tests check, so that it cannot go stale in a string.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fail } from '../../spec/error.ts'
import { writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'

const protocolFile = 'my-engine.protocol.ts'
const exploreLine = `npx ppcheck explore ./${protocolFile}`

export const run = ({ options }: Invocation): Report => {
  const replaced = existsSync(protocolFile)
  if (replaced && options.force !== true) {
    fail('PPC108', `${protocolFile} exists already`, 'ppcheck init --force overwrites it')
  }
  writeFileAtomically(protocolFile, readFileSync(exampleFile(), 'utf8'))
  return {
    command: 'init',
    exitCode: exitCodes.holds,
    data: { file: protocolFile, replaced },
    text: (paint) =>
      `${replaced ? 'replaced' : 'wrote'} ${paint.bold(protocolFile)}\ncheck it: ${exploreLine}`,
  }
}

/** From dist/cli/commands/ the package is three folders up, from the sources (in tests) two. */
function exampleFile(): string {
  const root = import.meta.url.endsWith('.js') ? '../../../' : '../../'
  return fileURLToPath(new URL(`${root}docs/examples/${protocolFile}`, import.meta.url))
}
