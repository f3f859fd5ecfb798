// JUnit XML, as CI systems read it: one test case for each scenario. The format has no standard;
// this is the part that Jenkins, GitLab and GitHub actions agree on.

import { checksOf } from './checks.ts'
import type { CheckResult, Reporter } from './report.ts'

export const junitReporter: Reporter = {
  render: (report) => {
    const checks = checksOf(report, 'junit')
    const failures = checks.filter(({ outcome }) => outcome === 'failed').length
    const skipped = checks.filter(({ outcome }) => outcome === 'undecided').length
    const time = seconds(checks.reduce((sum, { milliseconds }) => sum + milliseconds, 0))
    const counts = `tests="${checks.length}" failures="${failures}" errors="0" skipped="${skipped}"`
    return [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites name="ppcheck" ${counts} time="${time}">`,
      `  <testsuite name="ppcheck ${report.command}" ${counts} time="${time}">`,
      ...checks.map(testCase),
      '  </testsuite>',
      '</testsuites>',
      '',
    ].join('\n')
  },
}

function testCase(check: CheckResult): string {
  const { name, outcome, message, rule, details, file, milliseconds } = check
  const where = file === undefined ? '' : ` file="${escaped(file)}"`
  const head =
    `    <testcase classname="ppcheck" name="${escaped(name)}"${where} ` +
    `time="${seconds(milliseconds)}"`
  if (outcome === 'passed') return `${head}/>`
  const said = `message="${escaped(message)}"`
  const inside =
    outcome === 'failed'
      ? `<failure type="${escaped(rule)}" ${said}>${escaped(details)}</failure>`
      : `<skipped ${said}/>`
  return `${head}>\n      ${inside}\n    </testcase>`
}

const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(3)

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** XML 1.0 has no way to say most control characters: they are left out. */
const escaped = (text: string): string =>
  [...text]
    .filter((sign) => sign === '\n' || sign === '\t' || sign >= ' ')
    .map((sign) => entities[sign] ?? sign)
    .join('')
