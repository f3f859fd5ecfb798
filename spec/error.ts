// The one place where an error of ppcheck is made. Every code has one line in the table below; a
// message says what is wrong, where, and what was expected. It must never print or exit.

/**
 * All codes. PPC1xx configuration (what was typed or written in a file), PPC2xx model (a protocol
 * or scenario that makes no sense), PPC3xx replay and trace, PPC4xx backend, PPC5xx dumps
 * and logs of a real wedge.
 */
export const errorCodes = {
  PPC101: 'an option or setting that must be a number is not in its range',
  PPC102: 'an option or setting that must be one of a list is not',
  PPC103: 'there is no command of that name',
  PPC104: 'there is no option of that name for this command',
  PPC105: 'the command line does not parse: an argument is missing or too many are given',
  PPC106: 'there is no reporter of that name',
  PPC107: 'two options contradict each other',
  PPC108: 'a file would be overwritten',
  PPC109: 'a file cannot be read or written',
  PPC110: 'there is no built-in variant, scenario or property of that name',
  PPC111: 'a configuration or protocol file does not load or has the wrong shape',
  PPC112: 'an option or setting is not a size or a duration',
  PPC120: 'a property run has nothing to run',
  PPC121: 'a path of a property run does not parse or fails no more',
  PPC125: 'there is no configuration of the gate',
  PPC126: 'a file of expectations does not parse or has another version',
  PPC135: 'there is no museum case of that name, or none that fits',
  PPC136: 'a file of observations does not parse',
  PPC201: 'a protocol is not well formed',
  PPC202: 'a scenario is not well formed',
  PPC203: 'a header field does not fit its element type',
  PPC204: 'a batch, mask or payload has a shape that the protocol does not allow',
  PPC205: 'the model outgrew a packed representation',
  PPC206: 'a scenario has a part that an export format does not say',
  PPC210: 'a machine has more local states than can be numbered',
  PPC211: 'a machine is not pure: the same event led to two different states',
  PPC212: 'a machine uses timers, spawned machines or inline functions as effects',
  PPC301: 'a schedule string does not parse',
  PPC302: 'a schedule asks for a choice that the model does not offer',
  PPC303: 'a trace file does not parse or has an unknown version',
  PPC304: 'a trace was recorded with another scenario or version',
  PPC305: 'a replay does not do what the search did',
  PPC401: 'a backend is not available on this machine',
  PPC402: 'a call of a backend failed',
  PPC403: 'a rank process ended before its time',
  PPC404: 'a peer or a connection of a live run is lost',
  PPC405: 'a frame of a live run is not what its receiver expects',
  PPC406: 'an operation of a live run is not done within its deadline',
  PPC407: 'a scenario cannot be run live on this transport',
  PPC408: 'a recording cannot be written',
  PPC409: 'the ranks of a live run do not come together',
  PPC420: 'a GPU library or the addon that calls it is not here',
  PPC421: 'a library is not the one that it is taken for',
  PPC422: 'a GPU library is too old: a symbol is missing',
  PPC423: 'the driver finds no usable GPU',
  PPC424: 'a call of the CUDA driver or of NCCL failed',
  PPC425: 'a device profile cannot be read or has another version',
  PPC426: 'there are fewer GPUs than asked for',
  PPC501: 'a pickle has an opcode or a value that no flight recorder writes',
  PPC502: 'a file is no flight-recorder dump, or a JSON that nothing here knows',
  PPC503: 'there is nothing to diagnose: no file, or none that can be read',
  PPC504: 'the rank of a dump is not known',
  PPC505: 'there is no run that could be written as flight-recorder dumps',
} as const

export type ErrorCode = keyof typeof errorCodes

/** An error that the user can mend. The CLI prints it as one line, `PPC101 what is wrong`. */
export class PpcheckError extends Error {
  readonly code: ErrorCode
  /** What to do next, as a sentence without the word "hint". */
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, hint?: string) {
    super(message)
    this.name = 'PpcheckError'
    this.code = code
    this.hint = hint
  }
}

/** A broken promise of ppcheck itself: never the user's fault, always worth a report. */
export class InternalError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'InternalError'
  }
}

/**
 * Throws a coded error. `fail('PPC101', 'window must be an integer ≥ 1, got 0 (--window)')`.
 * A function declaration, not an arrow: the compiler then knows that nothing after it runs.
 */
export function fail(code: ErrorCode, message: string, hint?: string): never {
  throw new PpcheckError(code, message, hint)
}

/** States in a sentence what must be true, also in production. Throws InternalError if not. */
export function assert(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new InternalError(sentence)
}
