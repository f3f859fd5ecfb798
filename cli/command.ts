// What a command is. A command module computes a Report and returns it; parsing, printing, exit
// codes and errors are done around it, so that it never touches process.argv, stdout or exit.

import type { CommandName, OptionValues } from './options.ts'
import type { Progress } from './progress.ts'
import type { Report } from './reporters/report.ts'

/** Everything that a command gets to know. */
export interface Invocation {
  /** The positional arguments. */
  readonly args: readonly string[]
  /** Checked values of the options that the command takes. */
  readonly options: OptionValues
  readonly progress: Progress
  /**
   * A signal that fires on the first Ctrl-C, for a partial report (exit code 130); the second ends
   * the process. Ask for it only in code that yields to the event loop now and then: until it is
   * asked for, Ctrl-C ends the process at once, as a loop without a pause needs.
   */
  interruptSignal(): AbortSignal
}

/** What commands/NAME.ts exports. Throw PpcheckError for what the user can mend. */
export interface CommandModule {
  run(invocation: Invocation): Promise<Report> | Report
}

/** One line of command-list.ts. */
export interface CommandDeclaration {
  readonly name: CommandName
  readonly summary: string
  /** As commander reads it: `[scenario...]`, `<trace>`. Left out: no arguments. */
  readonly arguments?: string
  /** Loads the module; called only when the command runs, so that help stays fast. */
  readonly load: () => Promise<CommandModule>
}
