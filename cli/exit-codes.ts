// What the process says when it ends. Scripts rely on these numbers, so they never change meaning.

import { type ErrorCode, PpcheckError } from '../spec/error.ts'

export const exitCodes = {
  /** All properties hold in the printed scope. */
  holds: 0,
  /** A property is violated (other than by a deadlock or a livelock). */
  violated: 1,
  /** Usage or configuration. */
  usage: 2,
  deadlock: 3,
  /** Progress is violated: the run goes on for ever without completing a step. */
  livelock: 4,
  /** A budget was reached although `--require exhaustive` was given. */
  inconclusive: 5,
  /** Two runs, or a run and its replay, disagree. */
  nondeterminism: 6,
  /** A backend is unavailable; the reason is printed. */
  unavailable: 7,
  /** A fault of ppcheck itself. */
  internal: 70,
  /** Interrupted by the user; a partial report is written. */
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The exit code of an error that reached the top. Anything without a code is our own fault. */
export const exitCodeOf = (error: unknown): ExitCode =>
  error instanceof PpcheckError ? exitCodeOfCode(error.code) : exitCodes.internal

const exitCodeOfCode = (code: ErrorCode): ExitCode => {
  if (code === 'PPC302' || code === 'PPC305') return exitCodes.nondeterminism
  if (code === 'PPC425') return exitCodes.usage
  return code.startsWith('PPC4') ? exitCodes.unavailable : exitCodes.usage
}
