// The page of the museum, docs/museum.md: made from the cases and their verdicts, without times, so
// that equal sources give equal bytes.

import type { Explanation } from '../sim/explain.ts'
import { leftOut } from '../spec/museum/left-out.ts'
import { properties } from '../spec/properties.ts'
import type { Shown } from './museum-run.ts'

const columnsMax = 6

export function museumPage(shown: readonly Shown[]): string {
  const cases = [...new Set(shown.map(({ museumCase }) => museumCase))]
  const lines = [
    '# The museum of public bugs',
    '',
    'Made by `npx ppcheck museum --page docs/museum.md`; do not edit. Every case is a program that',
    'breaks before its fix and holds after it. `npx ppcheck museum ID` tells the story of one, and',
    '`npx ppcheck explore museum:ID.N` checks one exhibit for every property.',
    '',
    `${cases.length} cases, ${shown.length} searches.`,
    '',
    ...caseTable(shown, cases),
    '',
  ]
  for (const museumCase of cases) {
    const { id, reports, mechanism, engine, knobs, inferred } = museumCase
    lines.push(`## ${id}`, '')
    lines.push(reports.map((report) => `[${report.id}](${report.url})`).join(', '), '')
    lines.push(mechanism, '', `Engine: ${engine}. Knobs: ${knobs.join(', ')}.`, '')
    if (inferred !== undefined) lines.push(`Inferred: ${inferred}`, '')
    const own = shown.filter((each) => each.museumCase === museumCase)
    for (const each of own) lines.push(exhibitLine(each))
    lines.push('')
    const first = own.find(({ verdict }) => verdict.counterexamples.length > 0)
    const explanation = first?.verdict.counterexamples[0]?.explanation
    if (first === undefined || explanation === undefined) continue
    lines.push(`How "${first.exhibit.name}" ends: ${explanation.story}`, '')
    lines.push('```mermaid', ...sequence(explanation), '```', '')
  }
  lines.push('## What was left out', '')
  for (const { ids, because } of leftOut) lines.push(`- ${ids}: ${because}`)
  return `${lines.join('\n')}\n`
}

/** Aligned, as a formatter of Markdown leaves it. */
function caseTable(shown: readonly Shown[], cases: readonly Shown['museumCase'][]): string[] {
  const rows = cases.map((each) => {
    const own = shown.filter(({ museumCase }) => museumCase === each)
    const broken = own.flatMap(({ exhibit }) => exhibit.violates ?? [])
    const isSound = own.some(({ exhibit }) => exhibit.violates === undefined)
    const names = [...new Set(broken)].join(', ')
    return [`[${each.id}](#${each.id})`, names || '–', isSound ? 'holds' : '–']
  })
  const head = ['case', 'breaks', 'mended']
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at].length)))
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  return [lineOf(head), lineOf(widths.map((width) => '-'.repeat(width))), ...rows.map(lineOf)]
}

function exhibitLine({ exhibit, verdict }: Shown): string {
  const [counterexample] = verdict.counterexamples
  const what =
    counterexample === undefined
      ? 'holds'
      : `${counterexample.property} ${properties[counterexample.property].name} ` +
        `(${counterexample.choices.length} choices)`
  return `- ${exhibit.when}, ${exhibit.name}: ${what}`
}

/** The last columns of the table of ranks over time, as a sequence diagram. */
function sequence({ table }: Explanation): string[] {
  const lines = ['sequenceDiagram']
  table.rows.forEach((_, rank) => {
    lines.push(`  participant R${rank} as rank ${rank}`)
  })
  const from = Math.max(0, table.columns.length - columnsMax)
  for (let column = from; column < table.columns.length; column++) {
    const isLast = column === table.columns.length - 1
    const cells = table.rows.map((row) => row[column])
    const told = new Set<string>()
    cells.forEach((text, rank) => {
      if (text === '' || told.has(text)) return
      const sharing = cells.flatMap((other, r) => (other === text ? [r] : []))
      const words = text.replace(/[;#:]/g, ' ')
      if (isLast || sharing.length === 1) {
        lines.push(`  Note over R${rank}: ${words}`)
        return
      }
      told.add(text)
      const source = sharing[sharing.length - 1]
      for (const target of sharing.slice(0, -1)) lines.push(`  R${source}->>R${target}: ${words}`)
    })
  }
  return lines
}
