// `ppcheck explore --mode random`: property runs with fast-check over all smaller sizes of a
// scenario. What fails is shrunken, checked exhaustively at its own size, and printed like any
// other violation. `--mode both` adds the exhaustive search of the scenario itself.

import type { ChalkInstance } from 'chalk'
import { type Explanation, explainSchedule } from '../../sim/explain.ts'
import {
  excludedProbability,
  type PropertyFailure,
  type PropertyRun,
  PropertyRunner,
  type PropertyRunOptions,
  type Size,
} from '../../sim/property-run.ts'
import { check, type Verdict } from '../../sim/search/check.ts'
import { fail, PpcheckError } from '../../spec/error.ts'
import { propertyIds } from '../../spec/properties.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { type NamedScenario, replayLine, scenariosFrom } from '../scenario-source.ts'
import { seedOf } from '../search-options.ts'
import {
  counterexampleText,
  exitCodeOfBroken,
  scopeText,
  spaced,
  violatedLines,
  wrapped,
} from '../verdict-text.ts'

const runsDefault = 1000
/** Runs of more steps find little more: what wedges at all wedges within a turn of the pipeline. */
const stepsDefault = 6
/** States of the exhaustive search that confirms a shrunken failure. */
const confirmStatesMax = 300_000

interface Sampled {
  readonly named: NamedScenario
  readonly sizes: readonly (Size & { readonly words: readonly string[] })[]
  readonly run: PropertyRun
  readonly confirmed: Verdict | undefined
  readonly explanation: Explanation | undefined
  readonly elapsedMs: number
}

/** @param exhaustive what `--mode both` does afterwards. */
export async function runRandom(
  invocation: Invocation,
  exhaustive: (invocation: Invocation) => Promise<Report>,
): Promise<Report> {
  const { args, options, progress } = invocation
  refuseWhatIsNotRandom(options)
  const named = await scenariosFrom(args, options)
  const signal = invocation.interruptSignal()
  const seed = seedOf(options)
  const sampled: Sampled[] = []
  for (const [index, each] of named.entries()) {
    const sizes = await sizesOf(args, options, each, index)
    const started = performance.now()
    const deadline = started + (options.timeLimitMs ?? Number.POSITIVE_INFINITY)
    const stop = (done: number): boolean => {
      const rate = Math.round((done / (performance.now() - started)) * 1000)
      progress.update(
        () => `${each.scenario.name}: ${spaced(done)} schedules, ${spaced(rate)} a second`,
      )
      return signal.aborted || performance.now() > deadline
    }
    const run = await sample(sizes, options, seed, stop)
    const elapsedMs = performance.now() - started
    const rate = spaced(Math.round((run.runs / elapsedMs) * 1000))
    progress.note(`${each.scenario.name}: ${(elapsedMs / 1000).toFixed(2)} s, ${rate} schedules/s`)
    const { failure } = run
    const explanation =
      failure === undefined ? undefined : explainSchedule(failure.size.scenario, failure.schedule)
    const confirmed = failure === undefined ? undefined : confirm(failure)
    sampled.push({ named: each, sizes, run, confirmed, explanation, elapsedMs })
    if (signal.aborted) break
  }
  const interrupted = signal.aborted
  const broken = sampled.flatMap(({ run }) =>
    (run.failure?.found.findings ?? []).map(({ property }) => property),
  )
  const also = options.mode === 'both' && !interrupted ? await exhaustive(invocation) : undefined
  const own: ExitCode = interrupted ? exitCodes.interrupted : exitCodeOfBroken(broken)
  return {
    command: 'explore',
    exitCode: own === exitCodes.holds && also !== undefined ? also.exitCode : own,
    data: {
      seed,
      interrupted,
      sampled: sampled.map((each) => dataOf(each, seed, options)),
      ...(also === undefined ? {} : { exhaustive: also.data }),
    },
    text: (paint) =>
      [
        `seed     ${seed}`,
        ...(interrupted ? [paint.yellow('stopped  by Ctrl-C; this report is partial')] : []),
        ...sampled.flatMap((each) => textOf(paint, each, seed, options)),
        ...(also === undefined ? [] : ['', paint.bold('Exhaustively'), also.text(paint)]),
      ].join('\n'),
  }
}

function refuseWhatIsNotRandom(options: OptionValues): void {
  const given = (['checkpoint', 'resume', 'save'] as const).find(
    (key) => options[key] !== undefined,
  )
  if (given !== undefined && options.mode === 'random') {
    fail('PPC107', `--${given} belongs to --mode exhaustive`)
  }
}

/** All sizes up to the scenario's own that its protocol takes, smallest first. */
async function sizesOf(
  args: readonly string[],
  options: OptionValues,
  { scenario }: NamedScenario,
  index: number,
): Promise<Sampled['sizes']> {
  const { pp: ppMax, window } = scenario.topology
  const stepsMax = scenario.workload.steps > 0 ? scenario.workload.steps : stepsDefault
  const found: (Size & { words: readonly string[] })[] = []
  for (let pp = 2; pp <= ppMax; pp++) {
    // A file's window belongs to its own pp; that of a variant follows from vLLM's rule.
    const isFile = args.length > 0 && options.variant === undefined
    const fixed = options.window ?? (isFile ? Math.max(1, window - ppMax + pp) : undefined)
    for (let steps = 1; steps <= stepsMax; steps++) {
      const smaller = { ...options, pp, steps, ...(fixed === undefined ? {} : { window: fixed }) }
      try {
        const named = await scenariosFrom(args, smaller)
        const { scenario: sized, words } = named[index]
        found.push({ pp, steps, scenario: sized, words })
      } catch (error) {
        // A protocol that names rank 3 has no smaller twin; at its own size an error is an error.
        if (pp < ppMax && error instanceof PpcheckError && error.code === 'PPC201') break
        throw error
      }
    }
  }
  return found
}

/** Runs in slices, so that Ctrl-C and the time limit are seen between two of them. */
async function sample(
  sizes: readonly Size[],
  options: OptionValues,
  seed: number,
  stop: (done: number) => boolean,
): Promise<PropertyRun> {
  const run = async (): Promise<PropertyRun> => {
    const plain: PropertyRunOptions = {
      runs: options.runs ?? runsDefault,
      seed,
      ...(options.path === undefined ? {} : { path: options.path }),
    }
    const runner = new PropertyRunner(sizes, plain)
    for (let done = 0; runner.advance(); ) {
      done = runner.result().runs
      if (stop(done)) break
      await new Promise((resolve) => setImmediate(resolve))
    }
    return runner.result()
  }
  const first = await run()
  if (options.checkDeterminism !== true) return first
  const second = await run()
  if (JSON.stringify(outcomeOf(first)) !== JSON.stringify(outcomeOf(second))) {
    fail('PPC305', 'two runs with the same seed differ (--check-determinism)')
  }
  return first
}

const outcomeOf = ({ runs, choices, coverage, failure }: PropertyRun): unknown => ({
  runs,
  choices,
  coverage,
  schedule: failure?.schedule,
  path: failure?.path,
})

/** Does the exhaustive search of the shrunken size break the same property? */
function confirm({ size, found }: PropertyFailure): Verdict {
  const asked = found.findings.map(({ property }) => property)
  return check({ ...size.scenario, properties: asked }, { statesMax: confirmStatesMax })
}

const wordsOf = ({ sizes, run }: Sampled): readonly string[] => {
  const { size } = run.failure as PropertyFailure
  return sizes.find(({ scenario }) => scenario === size.scenario)?.words ?? []
}

function linesOf(sampled: Sampled, seed: number, options: OptionValues) {
  const { failure } = sampled.run
  if (failure === undefined) return undefined
  const replayed = replayLine(wordsOf(sampled), failure.schedule)
  const again = [
    'npx ppcheck explore',
    ...sampled.named.words,
    `--mode random --seed ${seed} --path ${failure.path}`,
    ...(options.steps === undefined || sampled.named.words.includes('--steps')
      ? []
      : [`--steps ${options.steps}`]),
  ].join(' ')
  return { replay: replayed, again }
}

function dataOf(sampled: Sampled, seed: number, options: OptionValues) {
  const { named, run, confirmed, explanation } = sampled
  const { failure, runs, choices, coverage, different } = run
  return {
    scenario: named.scenario.name,
    outcome: failure === undefined ? 'holds' : 'violated',
    scope: { kind: 'sampled', schedules: runs },
    excludedFailureProbability: failure === undefined ? excludedProbability(runs) : null,
    choices,
    different,
    coverage,
    ...(failure === undefined
      ? {}
      : {
          failure: {
            pp: failure.size.pp,
            steps: failure.size.steps,
            script: failure.case.script,
            deviations: failure.case.deviations,
            findings: failure.found.findings,
            choices: failure.found.choices,
            schedule: failure.schedule,
            shrinks: failure.shrinks,
            path: failure.path,
            confirmed: confirmed?.outcome,
            ...explanation,
            ...linesOf(sampled, seed, options),
          },
        }),
  }
}

function textOf(
  paint: ChalkInstance,
  sampled: Sampled,
  seed: number,
  options: OptionValues,
): string[] {
  const { named, run, sizes, confirmed, explanation } = sampled
  const { scenario } = named
  const { failure, runs, coverage, different } = run
  const asked = scenario.properties ?? propertyIds
  const { pp } = scenario.topology
  const steps = Math.max(...sizes.map((size) => size.steps))
  const range = `pp ${sizes[0].pp}..${pp}, 1..${steps} steps`
  const lines = ['', `${paint.bold(scenario.name)}: ${range}, schedules drawn by fast-check`]
  if (failure === undefined) {
    const percent = (100 * excludedProbability(runs)).toPrecision(2)
    lines.push(
      `${paint.green.bold('CLEAN')}    ${asked.join(' ')}`,
      `scope    sampled: ${spaced(runs)} schedules, ${spaced(different)} of them different; a ` +
        `failure in more than ${percent} % is excluded with 95 % confidence`,
    )
  } else {
    const broken = failure.found.findings.map(({ property }) => property)
    lines.push(
      ...violatedLines(paint, broken),
      `scope    sampled: refuted by schedule ${spaced(runs)}, then shrunken ` +
        `${failure.shrinks} times`,
      `smallest ${failureText(failure)}`,
    )
    if (confirmed !== undefined) lines.push(`confirm  ${confirmText(failure, confirmed)}`)
  }
  lines.push(...coverageText(coverage))
  const printed = linesOf(sampled, seed, options)
  if (failure === undefined || explanation === undefined || printed === undefined) return lines
  const told = {
    property: failure.found.findings[0].property,
    findings: failure.found.findings,
    choices: failure.found.choices,
    shortest: false,
  }
  const both = `${printed.replay}\n${printed.again}`
  lines.push(...counterexampleText(paint, told, explanation, both))
  return lines
}

function failureText({ size, case: { script, deviations } }: PropertyFailure): string {
  const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
  const batches = script.filter((index) => index > 0).length
  return (
    `${count(size.pp, 'rank')}, ${count(size.steps, 'step')}, ` +
    `${count(batches, 'step')} with another batch than the first, ` +
    `${count(deviations.length, 'deviation')} from the default schedule`
  )
}

function confirmText({ size }: PropertyFailure, { outcome, scope, states }: Verdict): string {
  const where = `pp ${size.pp} and ${size.steps} steps`
  if (outcome === 'violated') return `the exhaustive search of ${where} breaks it too`
  if (outcome === 'inconclusive') return `undecided at ${where}: ${scopeText(scope)}`
  return `NOT by the exhaustive search of ${where} (${spaced(states)} states): please report this`
}

/** What was reached, and above all what never was. */
function coverageText({ operations, dispatches, deviating }: PropertyRun['coverage']): string[] {
  const all = Object.entries(operations)
  const missed = all.filter(([, states]) => states === 0).map(([operation]) => operation)
  const alternatives = Object.keys(dispatches).length
  const lines = [
    `reached  ${all.length - missed.length} of ${all.length} operations, ` +
      (alternatives === 0 ? 'one kind of batch' : `${alternatives} kinds of batches`) +
      `, ${spaced(deviating)} schedules off the default`,
  ]
  if (missed.length > 0) lines.push(...wrapped(`never    ${missed.join('; ')}`))
  return lines
}
