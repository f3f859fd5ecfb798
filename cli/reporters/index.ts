// Hands a report to the reporters that were asked for. The only place that writes results.

import { Chalk, type ChalkInstance } from 'chalk'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import { defaultReporter } from './default.ts'
import { htmlReporter, markdownReporter } from './document.ts'
import { githubReporter } from './github.ts'
import { jsonReporter } from './json.ts'
import { junitReporter } from './junit.ts'
import type { Report, Reporter } from './report.ts'
import { checkReporters, type ReporterName, type ReporterRequest } from './request.ts'
import { sarifReporter } from './sarif.ts'

const reporters: Record<ReporterName, Reporter> = {
  default: defaultReporter,
  json: jsonReporter,
  html: htmlReporter,
  junit: junitReporter,
  sarif: sarifReporter,
  github: githubReporter,
  markdown: markdownReporter,
}

export interface Output {
  /** Writes to stdout; injected so that tests can read it. */
  readonly write: (text: string) => void
  /** Colour on stdout? Files are never coloured. */
  readonly paint: ChalkInstance
}

const plain = new Chalk({ level: 0 })

/**
 * Checks the requests before the work starts: an hour of exploration must not end in an error that
 * could have been told at once. Throws PPC107 and PPC109. Nothing asked for means text on stdout.
 */
export const openReporters = (
  requests: readonly ReporterRequest[] | undefined,
): ((report: Report, output: Output) => void) => {
  const wanted = requests ?? [{ name: 'default', file: undefined }]
  checkReporters(wanted)
  for (const { file } of wanted) if (file !== undefined) checkTarget(file, '--reporter')
  return (report, output) => {
    for (const { name, file } of wanted) {
      if (file === undefined) output.write(reporters[name].render(report, output.paint))
      else writeFileAtomically(file, reporters[name].render(report, plain))
    }
  }
}
