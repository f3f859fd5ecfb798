// `ppcheck simulate`: a long run of the whole engine under traffic of requests, in virtual time.
// The run is decided by the scenario, the workload and the seed alone.

import type { ChalkInstance } from 'chalk'
import { type Explanation, explain } from '../../sim/explain.ts'
import { Soak, type SoakReport, soakChoices } from '../../sim/soak.ts'
import { fail } from '../../spec/error.ts'
import { properties, propertyIds } from '../../spec/properties.ts'
import type { Scenario } from '../../spec/scenario.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { quoted, scenariosFrom } from '../scenario-source.ts'
import { seedOf } from '../search-options.ts'
import { endText, exitCodeOfBroken, spaced, wrapped } from '../verdict-text.ts'
import { workloadShape } from '../workload-file.ts'

/** Iterations between two looks at Ctrl-C and the clock. */
const slice = 250

export async function run(invocation: Invocation): Promise<Report> {
  const { args, options, progress } = invocation
  const [{ scenario: base, words }, ...more] = await scenariosFrom(args, options)
  if (more.length > 0) {
    fail('PPC107', `one scenario is simulated at a time, ${more.length + 1} are given`)
  }
  const shape = workloadShape(options.workload)
  const iterations = options.iterations ?? shape.iterations
  const seed = seedOf(options)
  const scenario: Scenario = {
    ...base,
    workload: { steps: 0, script: [], choices: [...soakChoices] },
  }
  const soak = new Soak(scenario, { ...shape, iterations, seed })
  const signal = invocation.interruptSignal()
  const started = performance.now()
  for (let until = slice; !signal.aborted && soak.advance(until); until += slice) {
    progress.update(() => progressText(soak.iterations, iterations, performance.now() - started))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const seconds = (performance.now() - started) / 1000
  const report = soak.report()
  const rate = spaced(Math.round(report.events / seconds))
  progress.note(`${scenario.name}: ${seconds.toFixed(2)} s, ${rate} events/s`)
  const broken = report.findings.map(({ property }) => property)
  const explanation = broken.length > 0 ? explain(soak.trace()) : undefined
  const code: ExitCode = report.disagreements > 0 ? exitCodes.violated : exitCodeOfBroken(broken)
  return {
    command: 'simulate',
    exitCode: signal.aborted ? exitCodes.interrupted : code,
    data: {
      seed,
      scenario: scenario.name,
      interrupted: signal.aborted,
      ...report,
      ...(explanation === undefined ? {} : { explanation }),
    },
    text: (paint) =>
      reportText(paint, { scenario, report, explanation, seed, options, words, iterations }),
  }
}

function progressText(done: number, of: number, elapsedMs: number): string {
  const left = done > 0 ? (elapsedMs / done) * (of - done) : 0
  const filled = Math.round((20 * done) / of)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(20 - filled)}`
  return `${bar} ${spaced(done)} of ${spaced(of)} iterations, ${(left / 1000).toFixed(1)} s left`
}

interface Result {
  readonly scenario: Scenario
  readonly report: SoakReport
  readonly explanation: Explanation | undefined
  readonly seed: number
  readonly options: OptionValues
  /** The words that name the scenario on a command line. */
  readonly words: readonly string[]
  readonly iterations: number
}

function reportText(paint: ChalkInstance, result: Result): string {
  const { scenario, report, explanation, seed, iterations } = result
  const { topology, device } = scenario
  const { counts, batches, tokensByRank } = report
  const outcomes = {
    done: paint.green.bold('CLEAN'),
    running: paint.yellow.bold('STOPPED'),
    stuck: paint.red.bold('WEDGED'),
    violated: paint.red.bold('VIOLATED'),
  }
  const watched = (scenario.properties ?? propertyIds).join(' ')
  const agreed = tokensByRank.every((tokens) => tokens === tokensByRank[0])
  const sent = Object.entries(batches)
    .map(([name, times]) => `${spaced(times)} ${name}`)
    .join(', ')
  const finished = Object.entries(counts.finished)
    .filter(([, times]) => times > 0)
    .map(([reason, times]) => `${spaced(times)} by ${reason}`)
    .join(', ')
  const lines = [
    `seed        ${seed}`,
    '',
    `${paint.bold(scenario.name)}: pp ${topology.pp}, window ${topology.window}, ` +
      `${device.residentCollectives} resident, launch order ${device.launchOrder}`,
    `${outcomes[report.end]}   ${outcomeText(report, iterations)}`,
    `watched     ${watched}`,
    `scope       one run: this order of events, this traffic; other orders are explore's`,
    `iterations  ${spaced(report.iterations)} of ${spaced(iterations)} (${sent})`,
    `requests    ${spaced(counts.prefills)} prefills, ${finished || 'none finished'}, ` +
      `${counts.preemptions} preempted, ${counts.zombies} rows dropped`,
    `tokens      ${spaced(counts.sampledTokens)} sampled; by rank ` +
      (agreed ? `${spaced(tokensByRank[0])} adopted on each` : tokensByRank.map(spaced).join(', ')),
    `stalls      ${report.stalls} (no reply for 10 s); ` +
      `longest gap ${secondsText(report.longestGapUs)}`,
    `time        ${secondsText(report.virtualUs)} of virtual time, ${spaced(report.events)} events`,
    `in flight   ${sparkline(report.window, topology.window)} (of ${topology.window})`,
  ]
  if (report.disagreements > 0) {
    lines.push(paint.red(`${report.disagreements} steps were not adopted on every rank`))
  }
  if (explanation !== undefined) lines.push(...explanationText(paint, result, explanation))
  return lines.join('\n')
}

function outcomeText({ end, findings, iterations }: SoakReport, wanted: number): string {
  if (end === 'done') return 'every step came back, every token was adopted on every rank'
  if (end === 'running') return `after ${spaced(iterations)} of ${spaced(wanted)} iterations`
  const [{ property, text }] = findings
  return `${property} ${properties[property].name} after ${spaced(iterations)} iterations: ${text}`
}

function explanationText(
  paint: ChalkInstance,
  { seed, options, words, iterations }: Result,
  explanation: Explanation,
): string[] {
  const name = words.join(' ')
  const line =
    `npx ppcheck simulate ${name} --seed ${seed} --iterations ${iterations}` +
    (options.workload === undefined ? '' : ` --workload ${quoted(options.workload)}`)
  const shorter = `npx ppcheck explore ${name}  # the shortest way to it`
  return [
    '',
    paint.bold('How it came to this'),
    ...wrapped(explanation.story),
    '',
    paint.bold('The end of the run, ranks over time'),
    ...endText(paint, explanation, `${line}\n${shorter}`),
  ]
}

const secondsText = (us: number): string => {
  const seconds = us / 1e6
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`
}

/** Largest number of steps in flight, one sign for each part of the run. */
const sparkline = (values: readonly number[], full: number): string =>
  values.map((value) => '▁▂▃▄▅▆▇█'[Math.min(7, Math.floor((8 * value) / (full + 1)))]).join('')
