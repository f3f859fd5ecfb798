// Prints `N passed, N failed` from vitest's JSON report, the one line that CI reads. Fails when
// anything failed or when nothing ran: a run without tests proves nothing.

import { readFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
let report
try {
  report = JSON.parse(readFileSync(file, 'utf8'))
} catch {
  // No report means that the run ended before any test, in the build for example.
  console.log('0 passed, 0 failed')
  process.exit(1)
}

// A file that does not load has no tests to count as failed, but it is a failure.
const brokenFiles = report.testResults.filter(
  (result) => result.status === 'failed' && result.assertionResults.length === 0,
).length

const passed = report.numPassedTests
const failed = report.numFailedTests + brokenFiles
const skipped = report.numPendingTests + report.numTodoTests

console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
