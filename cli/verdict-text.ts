// A verdict in words: what was covered, what holds, and for a violation the story, the cycle, the
// table of ranks over time, the line that replays it, and the fix. Never prints anything itself.

import type { ChalkInstance } from 'chalk'
import type { Explanation } from '../sim/explain.ts'
import type { Counterexample, Scope, Verdict } from '../sim/search/check.ts'
import type { PropertyId } from '../spec/properties.ts'
import { properties } from '../spec/properties.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'

/** Columns of prose and of tables that fit it. */
const tableWidth = 100

/** What a verdict covers. */
export function scopeText(scope: Scope): string {
  switch (scope.kind) {
    case 'exhaustive':
      return 'exhaustive — any run length'
    case 'steps':
      return `bounded to ${scope.steps} steps, all interleavings`
    case 'refuted':
      return 'refuted — the search ended at the violation'
    case 'bounded': {
      const why = { states: 'state budget', memory: 'memory budget', stopped: 'stopped' }
      const reached = scope.reason === 'stopped' ? '' : ' reached'
      return `bounded: ${why[scope.reason]}${reached} after ${spaced(scope.states)} states`
    }
  }
}

/** The exit code of broken properties: a deadlock outweighs everything else. */
export function exitCodeOfBroken(broken: readonly PropertyId[]): ExitCode {
  if (broken.includes('P1') || broken.includes('P10')) return exitCodes.deadlock
  if (broken.includes('P6')) return exitCodes.livelock
  return broken.length > 0 ? exitCodes.violated : exitCodes.holds
}

/** The process's exit code for a list of verdicts. */
export function exitCodeOf(verdicts: readonly Verdict[], requireExhaustive: boolean): ExitCode {
  const broken = verdicts.flatMap(({ counterexamples }) =>
    counterexamples.map(({ property }) => property),
  )
  if (broken.length > 0) return exitCodeOfBroken(broken)
  const short = verdicts.some(({ outcome }) => outcome === 'inconclusive')
  return short && requireExhaustive ? exitCodes.inconclusive : exitCodes.holds
}

/** The figures of a search on one line. */
export const figuresText = (verdict: Verdict): string =>
  `${spaced(verdict.states)} states, ${spaced(verdict.transitions)} transitions, ` +
  `reduction ${verdict.reduction}, ${verdict.walks} random schedules before`

export const spaced = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ' ')

/** One property, its name and what it says. */
const propertyText = (id: PropertyId): string =>
  `${id} ${properties[id].name}: ${properties[id].says}`

/** What is broken, with what the properties say. */
export const violatedLines = (paint: ChalkInstance, broken: readonly PropertyId[]): string[] =>
  broken.flatMap((id) => {
    const [first, ...rest] = wrapped(`VIOLATED ${propertyText(id)}`)
    return [first.replace('VIOLATED', paint.red.bold('VIOLATED')), ...rest]
  })

/** Was everything in the scope looked at, also after a violation (`--continue`)? */
const isComplete = ({ kind }: Scope): boolean => kind === 'exhaustive' || kind === 'steps'

/** The head of a verdict: outcome and scope. */
export function verdictHead(paint: ChalkInstance, verdict: Verdict): string[] {
  const broken = new Set(verdict.counterexamples.map(({ property }) => property))
  const lines = violatedLines(paint, [...broken])
  if (verdict.outcome === 'holds') {
    lines.push(`${paint.green.bold('HOLDS')}    ${verdict.properties.join(' ')}`)
  }
  if (verdict.outcome === 'inconclusive') {
    lines.push(
      `${paint.yellow.bold('UNDECIDED')} no violation so far of ${verdict.properties.join(' ')}`,
    )
  }
  const others = verdict.properties.filter((property) => !broken.has(property))
  if (verdict.outcome === 'violated' && isComplete(verdict.scope) && others.length > 0) {
    lines.push(`${paint.green.bold('HOLDS')}    ${others.join(' ')}`)
  }
  const limit = broken.size > 0 && isComplete(verdict.scope) ? ', up to each violation' : ''
  lines.push(`scope    ${scopeText(verdict.scope)}${limit}`, `search   ${figuresText(verdict)}`)
  return lines
}

/** What is told of a counterexample; a replay knows nothing of how short it is. */
export type Told = Pick<Counterexample, 'property' | 'findings' | 'choices'> &
  Partial<Pick<Counterexample, 'shortest'>>

/** A counterexample: story, cycle, table, replay line, hazard and fix. */
export function counterexampleText(
  paint: ChalkInstance,
  counterexample: Told,
  explanation: Explanation,
  replayLine: string,
): string[] {
  const { story, cycle, loop } = explanation
  const { property: broken, choices, shortest } = counterexample
  const known = shortest ? ', the fewest that lead here' : ', not known to be the fewest'
  const count = choices.length === 1 ? '1 choice' : `${choices.length} choices`
  const length = `${count}${shortest === undefined ? '' : known}`
  const lines = ['', paint.bold(`How ${broken} breaks (${length})`), ...wrapped(story, tableWidth)]
  for (const { property, text } of counterexample.findings) {
    // The story of a violation that is no wedge is the finding itself.
    if (story.toLowerCase().startsWith(text.toLowerCase())) continue
    lines.push(...wrapped(`${property}: ${text}`))
  }
  if (cycle.length > 0) {
    lines.push('', paint.bold('Wait-for cycle'))
    cycle.forEach(({ who, why }, index) => {
      lines.push(...wrapped(`${index + 1}. ${who} ${why}`))
    })
  }
  if (loop.length > 0) {
    lines.push('', paint.bold('For ever, after the run below (stem and loop of the lasso)'))
    loop.forEach((text, index) => {
      lines.push(...wrapped(`${index + 1}. ${text}, and misses`))
    })
  }
  lines.push('', paint.bold('Ranks over time'))
  return [...lines, ...endText(paint, explanation, replayLine)]
}

/** How a run ended: the table, where each rank stands, how to replay it, and the hazard. */
export const endText = (
  paint: ChalkInstance,
  { table, standing, hazard }: Explanation,
  replayLine: string,
): string[] => [
  ...tableText(paint, table),
  '',
  paint.bold('Where each rank stands'),
  ...standingText(standing),
  '',
  paint.bold('Replay'),
  replayLine,
  ...(hazard === undefined
    ? []
    : [
        '',
        paint.bold(`Hazard ${hazard.id} ${hazard.name}`),
        ...wrapped(`${hazard.because}. Fix: ${hazard.fix}.`),
      ]),
]

/** Where each rank stands, in order. */
export const standingText = (standing: readonly string[]): string[] =>
  standing.flatMap((text, rank) => wrapped(`rank ${rank}: ${text}`))

/** Text broken at blanks; continuation lines are indented. */
export function wrapped(text: string, width = tableWidth): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = `   ${word}`
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** The table, with as many of its last columns as fit; the wedge is always shown. */
export function tableText(paint: ChalkInstance, table: Explanation['table']): string[] {
  const { columns } = table
  const cellMax = tableWidth - 'rank'.length - 2
  const rows = table.rows.map((row) =>
    row.map((text) => (text.length > cellMax ? `${text.slice(0, cellMax - 1)}…` : text)),
  )
  const widths = columns.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column].length)),
  )
  let first = columns.length - 1
  let used = 'rank'.length + 2 + widths[first]
  while (first > 0 && used + 2 + widths[first - 1] <= tableWidth) used += 2 + widths[--first]
  const shown = columns.map((_, column) => column).slice(first)
  const lineOf = (head: string, cells: readonly string[], isHead: boolean): string => {
    const parts = shown.map((column) => {
      const text = cells[column].padEnd(column === columns.length - 1 ? 0 : widths[column])
      return column === columns.length - 1 && !isHead ? paint.red(text) : text
    })
    return [head.padEnd(4), ...parts].join('  ').trimEnd()
  }
  return [
    paint.dim(lineOf('rank', columns, true)),
    ...rows.map((row, rank) => lineOf(String(rank), row, false)),
    paint.dim('▸ starts, ✓ completes, ↻ spins in the end, ✗ cannot start; (n) is the step'),
    ...leftOut(columns[first]).map((line) => paint.dim(line)),
  ]
}

/** `t21` is the first column shown: what came before is named, so that nobody takes it for all. */
function leftOut(firstColumn: string): string[] {
  const before = Number(/^t(\d+)$/.exec(firstColumn)?.[1] ?? 1) - 1
  if (before < 1) return []
  const what = before === 1 ? 'column t1 is' : `columns t1 to t${before} are`
  return [`${what} left out; replay with --step lists every event`]
}
