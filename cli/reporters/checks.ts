// What reporters of lists of results have in common.

import { fail } from '../../spec/error.ts'
import type { CheckResult, Report } from './report.ts'

/** @throws PpcheckError PPC107 for a command whose result is no list. */
export function checksOf({ checks, command }: Report, reporter: string): readonly CheckResult[] {
  if (checks !== undefined) return checks
  return fail('PPC107', `${command} has no list of results for the reporter ${reporter}`)
}
