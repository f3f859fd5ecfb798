#!/usr/bin/env node
// The ppcheck command: reads the command line, runs one command, prints its report or one line of
// error, and sets the exit code. Must stay light, for `--help` loads all that is imported here.

import { InternalError, PpcheckError } from '../spec/error.ts'
import { commandList } from './command-list.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { type Parsed, parseCommandLine } from './program.ts'
import { createProgress } from './progress.ts'

async function main(argv: readonly string[]): Promise<number> {
  try {
    const parsed = await parseCommandLine(argv, commandList)
    return parsed === undefined ? exitCodes.holds : await runCommand(parsed)
  } catch (error) {
    // The command line may be what failed, so --debug is looked up in the raw words.
    process.stderr.write(errorText(error, argv.includes('--debug')))
    return exitCodeOf(error)
  }
}

async function runCommand({ declaration, args, options }: Parsed): Promise<number> {
  const [command, { openReporters }, { paintFor }] = await Promise.all([
    declaration.load(),
    import('./reporters/index.ts'),
    import('./color.ts'),
  ])
  const emit = openReporters(options.reporter)
  const progress = createProgress({ quiet: options.quiet === true })
  try {
    const report = await command.run({ args, options, progress, interruptSignal })
    progress.done()
    emit(report, {
      write: (text) => void process.stdout.write(text),
      paint: paintFor(options.color),
    })
    return report.exitCode
  } finally {
    progress.done()
  }
}

/** See Invocation.interruptSignal: installed only when a command asks for it. */
const interruptSignal = (): AbortSignal => {
  const controller = new AbortController()
  process.once('SIGINT', () => {
    controller.abort()
    process.once('SIGINT', () => process.exit(exitCodes.interrupted))
  })
  return controller.signal
}

/** One line for what the user can mend; our own faults also say how to get the stack. */
function errorText(error: unknown, debug: boolean): string {
  const stack = debug && error instanceof Error ? `${error.stack}\n` : ''
  if (error instanceof PpcheckError) {
    const hint = error.hint === undefined ? '' : ` — ${error.hint}`
    return `${error.code} ${error.message}${hint}\n${stack}`
  }
  const sentence = error instanceof Error ? error.message : String(error)
  const kind = error instanceof InternalError ? 'internal error' : 'unexpected error'
  const advice = debug ? '' : ' (please report it, with the output of the same command and --debug)'
  return `${kind}: ${sentence}${advice}\n${stack}`
}

// A closed pipe (`ppcheck ladder | head`) is the reader's choice and no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// Setting the code instead of leaving at once lets pending output drain.
process.exitCode = await main(process.argv.slice(2))
