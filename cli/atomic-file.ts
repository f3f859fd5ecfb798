// Output files appear complete or not at all: written under a temporary name, then renamed. Must
// never rename over something that is not a regular file (`/dev/stdout`, a pipe).

import {
  accessSync,
  constants,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fail } from '../spec/error.ts'

/** Throws PPC109 if the file clearly cannot be written later. `where` names the option. */
export const checkTarget = (file: string, where: string): void => {
  const folder = dirname(file)
  if (!existsSync(folder)) {
    fail('PPC109', `cannot write ${file}: no folder ${folder} (${where})`, `mkdir -p ${folder}`)
  }
  if (existsSync(file) && statSync(file).isDirectory()) {
    fail('PPC109', `cannot write ${file}: it is a folder (${where})`)
  }
  try {
    accessSync(isSpecial(file) ? file : folder, constants.W_OK)
  } catch (error) {
    fail('PPC109', `cannot write ${file}: ${reasonOf(error)} (${where})`)
  }
}

/** Writes the whole text or nothing. Throws PPC109. */
export const writeFileAtomically = (file: string, text: string | Uint8Array): void => {
  // A link stays a link: the file that it points at is replaced.
  const target = existsSync(file) ? realpathSync(file) : file
  const temporary = join(dirname(target), `.ppcheck-${process.pid}-${temporaryCount++}.tmp`)
  try {
    if (isSpecial(target)) {
      writeFileSync(target, text)
    } else {
      writeFileSync(temporary, text, { flag: 'wx' })
      renameSync(temporary, target)
    }
  } catch (error) {
    // A path that leads through a file makes existsSync say no and rmSync throw.
    if (existsSync(temporary)) rmSync(temporary)
    fail('PPC109', `cannot write ${file}: ${reasonOf(error)}`)
  }
}

let temporaryCount = 0

const isSpecial = (file: string): boolean => existsSync(file) && !statSync(file).isFile()

/** The system's short reason (`EACCES`), which is a word and not a sentence with paths. */
const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code
  return code ?? String(error)
}
