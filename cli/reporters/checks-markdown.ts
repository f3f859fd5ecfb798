// A list of results as Markdown, for a step summary or a comment: a table, and what failed.

import type { CheckResult } from './report.ts'

const signs = { passed: '✅', failed: '❌', undecided: '❔' } as const

export function checksMarkdown(title: string, checks: readonly CheckResult[]): string {
  const failed = checks.filter(({ outcome }) => outcome === 'failed')
  const lines = [
    `## ${title}`,
    '',
    `${checks.length - failed.length} of ${checks.length} as expected.`,
    '',
    '| | scenario | result |',
    '| --- | --- | --- |',
    ...checks.map(
      ({ name, outcome, message }) => `| ${signs[outcome]} | ${cell(name)} | ${cell(message)} |`,
    ),
    '',
  ]
  for (const { name, message, details } of failed) {
    // Four ticks: a story may hold three of them.
    lines.push(`### ${name}`, '', message, '', '````text', details, '````', '')
  }
  return lines.join('\n').trimEnd()
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
