// Data first, words second: a command returns a Report, and reporters turn it into bytes. A report
// must hold everything that any reporter prints, so that a file can be made from it later.

import type { ChalkInstance } from 'chalk'
import type { ExitCode } from '../exit-codes.ts'
import type { CommandName } from '../options.ts'

/** One thing that was checked, for reporters that list results. */
export interface CheckResult {
  /** Unique in its report, and the same from run to run. */
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'undecided'
  /** One line: the verdict, or what is wrong. */
  readonly message: string
  /** Stable id of what failed: a property's name, or `expectation`. */
  readonly rule: string
  /** Everything a reader of the CI page needs: story, table, replay line. */
  readonly details: string
  /** The file that declares it, relative to the working directory. */
  readonly file: string | undefined
  /** The steps of the counterexample in words, in order. */
  readonly steps: readonly string[]
  readonly milliseconds: number
}

export interface Report {
  readonly command: CommandName
  readonly exitCode: ExitCode
  /** The result as JSON-able data; bigint is allowed and written as 0x-hex text. */
  readonly data: Readonly<Record<string, unknown>>
  /** For reporters of lists of results (junit, sarif, github, markdown). */
  readonly checks?: readonly CheckResult[]
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
