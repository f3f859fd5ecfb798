// Data first, words second: a command returns a Report, and reporters turn it into bytes. A report
// must hold everything that any reporter prints, so that a file can be made from it later.

import type { ChalkInstance } from 'chalk'
import type { ExitCode } from '../exit-codes.ts'
import type { CommandName } from '../options.ts'

export interface Report {
  readonly command: CommandName
  readonly exitCode: ExitCode
  /** The result as JSON-able data; bigint is allowed and written as 0x-hex text. */
  readonly data: Readonly<Record<string, unknown>>
  /** The same in words, without a final newline. `paint` colours, or does not. */
  text(paint: ChalkInstance): string
  /** A document of its own for the reporters of that name; without one the text is framed. */
  markdown?(): string
  html?(): string
}

/** Turns a report into the bytes of one file or of stdout. Pure: it neither prints nor writes. */
export interface Reporter {
  render(report: Report, paint: ChalkInstance): string
}
