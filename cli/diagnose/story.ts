// A diagnosis in words: a story of at most twelve lines, a table rank × communicator, the evidence.

import type { ChalkInstance } from 'chalk'
import type { Diagnosis } from '../../sim/diagnosis/diagnose.ts'
import type { Evidence } from '../../sim/diagnosis/evidence.ts'
import { nameOf, openRange } from '../../sim/diagnosis/evidence.ts'
import { inOrder } from '../../sim/diagnosis/rules.ts'
import { escapeHtml } from '../reporters/document.ts'
import type { ReadFile } from './read-files.ts'

export interface Told {
  readonly evidence: Evidence
  readonly diagnosis: Diagnosis
  readonly files: readonly ReadFile[]
}

const storyLinesMax = 12
const rowsMax = 64
const evidenceMax = 40

const percent = (value: number): string => `${Math.round(value * 100)} %`

export const headline = {
  'nothing-wrong': 'nothing wrong: all ranks stand at the same operations, none is open',
  explained: 'wedge explained',
  insufficient: 'insufficient evidence',
} as const

/** Plain text, at most twelve lines. */
export function storyOf({ evidence, diagnosis }: Told): string[] {
  const { culprits, divergence, cycle, hazards, missing, outcome } = diagnosis
  const lines: string[] = [headline[outcome]]
  for (const { rank, kind, communicator, why, confidence } of culprits.slice(0, 4)) {
    const known = evidence.communicators.get(communicator)
    const where = known === undefined ? '' : ` on ${nameOf(known)}`
    lines.push(`rank ${rank} (${kind}, sure to ${percent(confidence)})${where}: ${why}`)
  }
  if (culprits.length > 4) lines.push(`and ${culprits.length - 4} more ranks (see the evidence)`)
  if (divergence !== undefined) {
    const { phase, sequence } = divergence
    const known = evidence.communicators.get(divergence.communicator)
    const which =
      phase === undefined
        ? ''
        : `: the ${phase.payload} broadcast of step ${phase.step} (${phase.period} a step)`
    const where = known === undefined ? divergence.communicator : nameOf(known)
    lines.push(`first divergence: #${sequence} of ${where}${which}`)
  }
  if (cycle.length > 0) {
    const links = cycle.slice(0, 6).map(({ from, to, communicator, sequence }) => {
      const where = sequence > 0 ? `#${sequence}` : ' (a hop)'
      return `rank ${from} waits for ${to} in ${communicator}${where}`
    })
    lines.push(`circle: ${links.join('; ')}`)
  }
  for (const { id, name, because, explore, fix } of hazards.slice(0, 2)) {
    lines.push(`${id} ${name}: ${because}; fix: ${fix}`, `  same shape in the model: ${explore}`)
  }
  if (hazards.length === 0 && outcome === 'explained') {
    lines.push('no hazard of the field report has this shape')
  }
  for (const each of missing) if (lines.length < storyLinesMax) lines.push(`missing: ${each}`)
  return lines.slice(0, storyLinesMax)
}

/** Rank × communicator: `issued/completed` and what is open. Quiet communicators are left out. */
export function tableOf({ evidence }: Told): { head: string[]; rows: string[][] } {
  const shown = inOrder(evidence).filter(({ standings, pointToPoint }) => {
    const all = [...standings.values()]
    const numbers = new Set(all.map(({ enqueued }) => enqueued))
    return numbers.size > 1 || all.some((each) => openRange(each, pointToPoint) !== undefined)
  })
  const columns = (shown.length > 0 ? shown : inOrder(evidence)).slice(0, 8)
  const ranks = [...evidence.ranks].sort((a, b) => a - b).slice(0, rowsMax)
  const rows = ranks.map((rank) => [
    `${rank}`,
    ...columns.map(({ standings, pointToPoint }) => {
      const standing = standings.get(rank)
      if (standing === undefined) return '-'
      const range = openRange(standing, pointToPoint)
      const kind = range === undefined ? undefined : standing.calls.get(range[0])?.kind
      const open = range === undefined ? '' : ` ${kind ?? ''}#${range[0]}`.replace('  ', ' ')
      return `${standing.enqueued ?? '?'}/${standing.completed ?? '?'}${open}`
    }),
  ])
  const head = columns.map(({ name, description }) => {
    return description === '' || description === name
      ? name
      : `${description.slice(0, 24)}(${name})`
  })
  return { head: ['rank', ...head], rows }
}

/** Facts behind the verdict, each with its source; never more than a screen or two. */
export function evidenceOf({ evidence, diagnosis, files }: Told): string[] {
  const lines: string[] = []
  const counts = new Map<string, number>()
  for (const { is } of files) counts.set(is, (counts.get(is) ?? 0) + 1)
  lines.push(`read: ${[...counts].map(([is, count]) => `${count} ${is}`).join(', ')}`)
  for (const { file, problem } of files)
    if (problem !== undefined) lines.push(`${file}: ${problem}`)
  for (const { communicator, sequence, field, sides } of diagnosis.mismatches) {
    const all = sides.map(({ says, ranks }) => `${says} on rank ${ranks.join(', ')}`)
    lines.push(`${communicator}#${sequence} ${field}: ${all.join('; ')}`)
  }
  for (const { rank, communicator, sequence, finishedOn } of diagnosis.stalls) {
    lines.push(
      `${communicator}#${sequence}: not finished on rank ${rank}, on ${finishedOn.join(', ')}`,
    )
  }
  for (const { from, to, communicator, sequence, why } of diagnosis.edges) {
    lines.push(`${communicator}#${sequence}: rank ${from} waits for rank ${to} (${why})`)
  }
  for (const { rank, says, source } of evidence.signs) {
    lines.push(`rank ${rank} ${says} [${source.file} ${source.record}]`)
  }
  for (const text of evidence.contradictions) lines.push(`contradiction: ${text}`)
  for (const { text, source } of evidence.notes) {
    lines.push(`${text} [${source.file} ${source.record}]`)
  }
  const more = lines.length - evidenceMax
  return more > 0 ? [...lines.slice(0, evidenceMax), `and ${more} more facts`] : lines
}

export function textOf(told: Told, paint: ChalkInstance): string {
  const [first, ...story] = storyOf(told)
  const { outcome } = told.diagnosis
  const colour =
    outcome === 'nothing-wrong' ? paint.green : outcome === 'explained' ? paint.red : paint.yellow
  const { head, rows } = tableOf(told)
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at].length)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd()
  const table = rows.length === 0 ? [] : ['', paint.bold(line(head)), ...rows.map(line)]
  const facts = evidenceOf(told).map((each) => `  ${each}`)
  return [colour(first), ...story, ...table, '', paint.bold('evidence'), ...facts].join('\n')
}

export function markdownOf(told: Told): string {
  const [first, ...story] = storyOf(told)
  const { head, rows } = tableOf(told)
  const cell = (text: string): string => text.replace(/[|\\]/g, '\\$&')
  const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`
  const table = [row(head), row(head.map(() => '---')), ...rows.map(row)]
  const list = (items: readonly string[]): string[] => items.map((item) => `- ${code(item)}`)
  const parts = [`## ${first}`, '', ...list(story), '', ...table, '', '### Evidence', '']
  return [...parts, ...list(evidenceOf(told))].join('\n')
}

/** Logs may hold anything; in backticks nothing of it is markup. */
const code = (text: string): string => `\`${text.trim().replaceAll('`', "'")}\``

/** One page without scripts and without anything from elsewhere. */
export function htmlOf(told: Told): string {
  const [first, ...story] = storyOf(told)
  const { head, rows } = tableOf(told)
  const cells = (tag: string, values: readonly string[]): string =>
    `<tr>${values.map((value) => `<${tag}>${escapeHtml(value)}</${tag}>`).join('')}</tr>`
  const list = (items: readonly string[]): string =>
    `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('\n')}</ul>`
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    '<title>ppcheck diagnose</title>',
    '<style>body{font:15px/1.5 system-ui;max-width:70rem;margin:2rem auto;padding:0 1rem}',
    'table{border-collapse:collapse;font-family:monospace}td,th{padding:.2rem .6rem;',
    'border:1px solid #8886;text-align:left}:root{color-scheme:light dark}</style>',
    `<h1>${escapeHtml(first)}</h1>${list(story)}<h2>Ranks and communicators</h2>`,
    `<table>${cells('th', head)}${rows.map((row) => cells('td', row)).join('\n')}</table>`,
    `<h2>Evidence</h2>${list(evidenceOf(told))}</html>`,
  ].join('\n')
}
