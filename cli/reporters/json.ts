// The machine-readable form: one JSON object. Never coloured, and its keys come in a fixed order,
// so that two runs with the same result give the same bytes.

import { version } from '../version.ts'
import type { Report, Reporter } from './report.ts'

export const jsonReporter: Reporter = {
  render: (report) => `${JSON.stringify(envelope(report), bigintAsHex, 2)}\n`,
}

const envelope = ({ command, exitCode, data }: Report): object => ({
  tool: 'ppcheck',
  version: version(),
  command,
  exitCode,
  ...data,
})

/** JSON has no 64-bit integers; a seed must survive the way to the next `--seed`. */
const bigintAsHex = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? `0x${value.toString(16)}` : value
