// `ppcheck museum`: public bugs before and after their fixes. Every verdict is searched for anew;
// the cases say what is expected, and one that comes out otherwise ends the command with code 1.

import type { ChalkInstance } from 'chalk'
import { fail } from '../../spec/error.ts'
import { type MuseumCase, museum } from '../../spec/museum/index.ts'
import { properties } from '../../spec/properties.ts'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import { museumPage } from '../museum-page.ts'
import { runMuseum, type Shown } from '../museum-run.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { poolOptions } from '../search-options.ts'
import { failUnknown } from '../suggest.ts'
import { counterexampleText, scopeText, wrapped } from '../verdict-text.ts'

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const cases = chosen(args, options)
  if (options.page !== undefined) checkTarget(options.page, '--page')
  const signal = invocation.interruptSignal()
  const total = cases.reduce((sum, { exhibits }) => sum + exhibits.length, 0)
  const shown = await runMuseum(cases, {
    ...poolOptions(options, signal),
    onDone: (finished) => progress.update(() => `museum: ${finished} of ${total} searches done`),
  })
  if (options.page !== undefined && !signal.aborted) {
    writeFileAtomically(options.page, museumPage(shown))
  }
  const wrong = shown.filter(({ asExpected }) => !asExpected)
  return {
    command: 'museum',
    exitCode: signal.aborted
      ? exitCodes.interrupted
      : wrong.length > 0
        ? exitCodes.violated
        : exitCodes.holds,
    data: {
      cases: cases.map((museumCase) => caseData(museumCase, shown, options.timing)),
      unexpected: wrong.map(({ address }) => address),
    },
    text: (paint) => {
      const story = args.length > 0 ? cases.flatMap((each) => storyText(paint, each, shown)) : []
      const table = args.length > 0 ? [] : tableText(paint, shown, options.timing)
      return [...table, ...story, ...summaryText(paint, cases, shown)].join('\n')
    },
  }
}

/** The cases that the arguments, `--grep` and `--knob` choose; all of them without. */
function chosen(args: readonly string[], options: OptionValues): readonly MuseumCase[] {
  const ids = museum.map(({ id }) => id)
  const unknown = args.find((id) => !ids.includes(id))
  if (unknown !== undefined) failUnknown('museum case', unknown, ids, { code: 'PPC135' })
  const word = options.grep?.toLowerCase()
  const fits = ({ id, family, mechanism, engine, reports }: MuseumCase): boolean =>
    word === undefined ||
    [id, family, mechanism, engine, ...reports.map((report) => report.id)]
      .join(' ')
      .toLowerCase()
      .includes(word)
  const { knob } = options
  const found = museum.filter(
    (each) =>
      (args.length === 0 || args.includes(each.id)) &&
      fits(each) &&
      (knob === undefined || each.knobs.includes(knob)),
  )
  if (found.length === 0) fail('PPC135', 'no museum case fits (--grep, --knob)', 'ppcheck museum')
  return found
}

function caseData(museumCase: MuseumCase, shown: readonly Shown[], timing: boolean): object {
  const { id, family, reports, mechanism, engine, knobs, inferred } = museumCase
  return {
    id,
    family,
    reports,
    mechanism,
    engine,
    knobs,
    ...(inferred === undefined ? {} : { inferred }),
    exhibits: shown
      .filter((each) => each.museumCase === museumCase)
      .map(({ exhibit, address, verdict, elapsedMs, asExpected }) => ({
        when: exhibit.when,
        name: exhibit.name,
        address,
        expected: exhibit.violates ?? 'holds',
        verdict: verdictWord(verdict),
        asExpected,
        scope: verdict.scope,
        states: verdict.states,
        length: verdict.counterexamples[0]?.choices.length ?? null,
        schedule: verdict.counterexamples[0]?.schedule ?? null,
        ...(timing ? { elapsedMs: Math.round(elapsedMs) } : {}),
      })),
  }
}

const verdictWord = (verdict: Shown['verdict']): string => {
  const [first] = verdict.counterexamples
  if (first !== undefined) return first.property
  return verdict.outcome === 'holds' ? 'holds' : 'undecided'
}

function tableText(paint: ChalkInstance, shown: readonly Shown[], timing: boolean): string[] {
  const head = ['case', 'when', 'verdict', 'choices', 'states', ...(timing ? ['time'] : []), 'what']
  const rows = shown.map(({ museumCase, exhibit, verdict, elapsedMs }, index) => [
    index > 0 && shown[index - 1].museumCase === museumCase ? '' : museumCase.id,
    exhibit.when,
    verdictName(verdict),
    String(verdict.counterexamples[0]?.choices.length ?? ''),
    String(verdict.states),
    ...(timing ? [`${(elapsedMs / 1000).toFixed(2)} s`] : []),
    exhibit.name,
  ])
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at].length)))
  const lineOf = (row: readonly string[]): string =>
    row
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd()
  return [
    paint.dim(lineOf(head)),
    ...rows.map((row, index) => {
      const { asExpected, exhibit } = shown[index]
      if (!asExpected) return paint.yellow(`${lineOf(row)}  ≠ expected ${expectation(exhibit)}`)
      return exhibit.violates === undefined ? paint.green(lineOf(row)) : paint.red(lineOf(row))
    }),
    '',
  ]
}

const verdictName = (verdict: Shown['verdict']): string => {
  const word = verdictWord(verdict)
  if (word === 'holds') return 'HOLDS'
  return word === 'undecided' ? 'UNDECIDED' : `${word} ${properties[word as 'P1'].name}`
}

const expectation = ({ violates }: Shown['exhibit']): string =>
  violates === undefined ? 'HOLDS' : `${violates} ${properties[violates].name}`

/** One case in full: what it is, and how each of its exhibits breaks or why it holds. */
function storyText(paint: ChalkInstance, museumCase: MuseumCase, all: readonly Shown[]): string[] {
  const { id, reports, mechanism, engine, inferred, knobs } = museumCase
  const lines = [
    paint.bold(id),
    ...reports.map((report) => `${report.id}  ${report.url}`),
    ...wrapped(mechanism),
    `engine   ${engine}`,
    `knobs    ${knobs.join(', ')}`,
    ...(inferred === undefined ? [] : wrapped(`inferred ${inferred}`)),
  ]
  for (const shown of all.filter((each) => each.museumCase === museumCase)) {
    const { exhibit, verdict, address, asExpected } = shown
    const [counterexample] = verdict.counterexamples
    const mark = asExpected ? '' : `  ≠ expected ${expectation(exhibit)}`
    lines.push('', paint.bold(`${exhibit.when}: ${exhibit.name}`))
    lines.push(`${verdictName(verdict)}${mark}, ${verdict.states} states`)
    lines.push(`scope    ${scopeText(verdict.scope)}`)
    if (exhibit.asks !== undefined) {
      const { properties: asked, because } = exhibit.asks
      lines.push(...wrapped(`asked    ${asked.join(' ')}: ${because}`))
    }
    if (counterexample?.explanation === undefined) continue
    const line = `npx ppcheck replay '${counterexample.schedule}' ${address}`
    lines.push(...counterexampleText(paint, counterexample, counterexample.explanation, line))
  }
  return [...lines, '']
}

function summaryText(
  paint: ChalkInstance,
  cases: readonly MuseumCase[],
  shown: readonly Shown[],
): string[] {
  const wrong = shown.filter(({ asExpected }) => !asExpected)
  const figures = `${cases.length} cases, ${shown.length} searches`
  if (wrong.length === 0) return [paint.green(`${figures}: every verdict is as expected`)]
  return [
    paint.yellow(`${figures}: ${wrong.length} not as expected`),
    ...wrong.map(
      ({ address, exhibit, verdict }) =>
        `${address} (${exhibit.name}): expected ${expectation(exhibit)}, ` +
        `got ${verdictName(verdict)}`,
    ),
  ]
}
