// The text that a person reads. Leaves every word to the command; adds only the final newline.

import type { Reporter } from './report.ts'

export const defaultReporter: Reporter = {
  render: (report, paint) => `${report.text(paint)}\n`,
}
