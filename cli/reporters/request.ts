// What `--reporter name[=file]` asks for. Knows the names only, so that parsing the command line
// loads no reporter.

import { fail } from '../../spec/error.ts'
import { failUnknown } from '../suggest.ts'

export const reporterNames = [
  'default',
  'json',
  'junit',
  'sarif',
  'github',
  'markdown',
  'html',
] as const

export type ReporterName = (typeof reporterNames)[number]

export interface ReporterRequest {
  readonly name: ReporterName
  /** Where to write; undefined is stdout. */
  readonly file: string | undefined
}

/** `json=out.json` -> { name: 'json', file: 'out.json' }. The file name may contain `=`. */
export const parseReporter = (text: string, _name: string, flag: string): ReporterRequest => {
  const cut = text.indexOf('=')
  const word = cut < 0 ? text : text.slice(0, cut)
  const file = cut < 0 ? undefined : text.slice(cut + 1)
  if (file === '') fail('PPC106', `reporter ${word} has no file after "=" (${flag})`)
  const known = reporterNames.find((each) => each === word)
  if (known === undefined) {
    failUnknown('reporter', word, reporterNames, { code: 'PPC106', where: flag })
  }
  return { name: known, file }
}

/** Two reporters on stdout would mix their bytes, and two in one file would lose one of them. */
export const checkReporters = (requests: readonly ReporterRequest[]): void => {
  const seen = new Set<string>()
  for (const { file } of requests) {
    const target = file === undefined ? 'stdout' : `file ${file}`
    if (seen.has(target)) {
      fail('PPC107', `two reporters write to ${target} (--reporter)`, 'give one its own file')
    }
    seen.add(target)
  }
}
