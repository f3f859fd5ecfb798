// An error on its way out of a worker thread. Only plain data crosses: classes do not survive.

import { type ErrorCode, InternalError, PpcheckError } from '../spec/error.ts'

export interface ThreadFailure {
  readonly kind: 'failed'
  /** Undefined for a fault of our own; the message is then its stack. */
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** In the thread: what an error says. */
export function failureOf(error: unknown): ThreadFailure {
  if (error instanceof PpcheckError) {
    const { code, message, hint } = error
    return { kind: 'failed', code, message, hint }
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { kind: 'failed', code: undefined, message, hint: undefined }
}

/** Outside: the error again. */
export const errorOf = ({ code, message, hint }: ThreadFailure): Error =>
  code === undefined ? new InternalError(message) : new PpcheckError(code, message, hint)
