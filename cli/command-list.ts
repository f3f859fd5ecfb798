// The commands that exist. Adding one is a line here and a file in commands/; its options are those
// of options.ts that name it.

import type { CommandDeclaration } from './command.ts'

export const commandList: readonly CommandDeclaration[] = [
  {
    name: 'doctor',
    summary: 'what can run here, and for what is missing the reason and the remedy',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'init',
    summary: 'write a commented ppcheck.config.ts',
    load: () => import('./commands/init.ts'),
  },
]
