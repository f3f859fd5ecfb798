// Builds the commander program from the option table and the command list, and turns commander's
// complaints into coded errors. Holds no knowledge of any single command.

import { Command, type CommanderError, Option } from 'commander'
import { fail, PpcheckError } from '../spec/error.ts'
import type { CommandDeclaration } from './command.ts'
import {
  type CommandName,
  flagName,
  helpOf,
  type OptionSpec,
  type OptionValues,
  optionEntries,
  readOption,
  takes,
} from './options.ts'
import { failUnknown } from './suggest.ts'
import { version } from './version.ts'

/** What the command line asked for. */
export interface Parsed {
  readonly declaration: CommandDeclaration
  readonly args: readonly string[]
  readonly options: OptionValues
}

/**
 * Reads the command line. Returns undefined when there is nothing left to do, because the help or
 * the version was printed. Throws PpcheckError for everything that does not parse.
 */
export const parseCommandLine = async (
  argv: readonly string[],
  commands: readonly CommandDeclaration[],
): Promise<Parsed | undefined> => {
  let parsed: Parsed | undefined
  const program = buildProgram(commands, (found) => {
    parsed = found
  })
  if (argv.length === 0) {
    program.outputHelp({ error: true })
    fail('PPC105', 'no command is given', 'see the list above')
  }
  // Commander would print the general help and succeed.
  const [word, topic] = argv
  if (word === 'help' && topic !== undefined && !topic.startsWith('-')) {
    const names = commands.map((each) => each.name as string)
    if (!names.includes(topic)) failUnknown('command', topic, names, { code: 'PPC103' })
  }
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (isHelp(error)) return undefined
    throw error
  }
  return parsed
}

function buildProgram(
  commands: readonly CommandDeclaration[],
  onParsed: (parsed: Parsed) => void,
): Command {
  const program = new Command('ppcheck')
    .description('Model checker for token broadcasts of pipeline-parallel LLM inference.')
    .version(version(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ showGlobalOptions: true })
  configure(program, program)
  for (const [key, spec] of optionEntries) {
    if (spec.commands === 'all') program.addOption(commanderOption(key, spec))
  }
  for (const declaration of commands) {
    const command = program.command(declaration.name).summary(declaration.summary)
    command.description(sentence(declaration.summary))
    if (declaration.arguments !== undefined) command.arguments(declaration.arguments)
    configure(command, program)
    for (const [key, spec] of optionEntries) {
      if (takes(spec, declaration.name)) command.addOption(commanderOption(key, spec))
    }
    command.action((): void => {
      const options = withDefaults(declaration.name, command.optsWithGlobals())
      onParsed({ declaration, args: command.args, options })
    })
  }
  return program
}

/** `what can run` -> `What can run.` */
const sentence = (summary: string): string => `${summary[0].toUpperCase()}${summary.slice(1)}.`

function configure(command: Command, program: Command): void {
  command
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => {} })
    .allowExcessArguments(false)
    .exitOverride((error) => rethrow(error, command, program))
}

function commanderOption(key: string, spec: OptionSpec<unknown>): Option {
  const option = new Option(spec.flag, helpOf(spec)).helpGroup(`${spec.group}:`)
  // Values are kept under the table's key, which may differ from the flag (timeLimitMs).
  option.attributeName = () => key
  if (spec.parse === undefined) return option
  return option.argParser((text, previous) => readOption(spec, text, previous))
}

/**
 * Defaults are filled in here and not by commander, which hands a default to the parser as if it
 * were an earlier occurrence.
 */
function withDefaults(
  command: CommandName,
  given: Readonly<Record<string, unknown>>,
): OptionValues {
  const values: Record<string, unknown> = {}
  for (const [key, spec] of optionEntries) {
    if (spec.commands !== 'all' && !takes(spec, command)) continue
    const value = given[key] ?? spec.default
    if (value !== undefined) values[key] = value
  }
  return values as unknown as OptionValues
}

/** Commander leaves by an exception after it printed the version or a help. */
const isHelp = (error: unknown): boolean => {
  const code = (error as Partial<CommanderError>).code ?? ''
  return ['commander.helpDisplayed', 'commander.help', 'commander.version'].includes(code)
}

/** Commander's words for what was mistyped are quoted: `error: unknown option '--windwo'`. */
function rethrow(error: CommanderError, command: Command, program: Command): never {
  if (isHelp(error)) throw error
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  if (error.code === 'commander.unknownCommand') {
    const names = program.commands.map((each) => each.name())
    failUnknown('command', quoted, names, { code: 'PPC103' })
  }
  if (error.code === 'commander.unknownOption') failUnknownOption(quoted, command, program)
  const plain = error.message.replace(/^error: /, '').replaceAll("'", '')
  throw new PpcheckError('PPC105', plain, `ppcheck ${usageName(command, program)}--help`)
}

function failUnknownOption(flag: string, command: Command, program: Command): never {
  const own = command.options.concat(command === program ? [] : program.options)
  const flags = own.map((option) => option.long ?? option.flags)
  const of = command === program ? 'option' : `option of ${command.name()}`
  // An option of another command is not mistyped; say where it belongs.
  const elsewhere = optionEntries.find(([, spec]) => flagName(spec) === flag)?.[1]
  if (elsewhere !== undefined && elsewhere.commands !== 'all') {
    const others = elsewhere.commands.filter((name) => program.commands.some(named(name)))
    const hint = others.length > 0 ? `it belongs to ${others.join(', ')}` : undefined
    fail('PPC104', `unknown ${of} "${flag}"`, hint)
  }
  failUnknown(of, flag, flags, { code: 'PPC104' })
}

const named =
  (name: string) =>
  (command: Command): boolean =>
    command.name() === name

const usageName = (command: Command, program: Command): string =>
  command === program ? '' : `${command.name()} `
