// Annotations of GitHub Actions: one line for each failure, shown on the page of the run and beside
// the file that declares the scenario.

import { checksOf } from './checks.ts'
import type { CheckResult, Reporter } from './report.ts'

export const githubReporter: Reporter = {
  render: (report) =>
    checksOf(report, 'github')
      .filter(({ outcome }) => outcome !== 'passed')
      .map((check) => `${annotation(check)}\n`)
      .join(''),
}

function annotation({ name, outcome, message, details, file }: CheckResult): string {
  const level = outcome === 'failed' ? 'error' : 'warning'
  const where = file === undefined ? '' : `file=${property(file)},`
  const title = property(`ppcheck: ${name}`)
  return `::${level} ${where}title=${title}::${data(`${message}\n${details}`)}`
}

/** The escapes of the runner's command syntax. */
const data = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
