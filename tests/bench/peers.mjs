// The same scenario through this explorer and through what a user would pick instead. Verdicts are
// compared, and without reduction the numbers of states as well.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toTla } from '../../dist/sim/export/tla.js'
import { fieldScenario, ladder } from '../../dist/spec/protocols/index.js'
import { mebibytes, median, ratio, root, runs, seconds, thousands, timed } from './measure.mjs'
import { spin, spinIsMissing } from './spin.mjs'
import { throughGraph, throughTransition } from './xstate-peers.mjs'

const limits = {
  memoryMiB: 8000,
  timeoutMs: 1000 * Number(process.env.PPCHECK_BENCH_SPIN_SECONDS ?? 30),
}
const properties = ['P1', 'P2', 'P10']
const none = { reduction: 'none', walks: 0, directedStatesMax: 0, memoryBytes: 2 ** 32 }

/** A search in a process of its own: median time of the whole process, and its own figures. */
function ours(scenario, options) {
  const samples = Array.from({ length: runs }, () =>
    timed(() =>
      JSON.parse(
        spawnSync(process.execPath, ['tests/bench/one-check.mjs'], {
          cwd: root,
          encoding: 'utf8',
          input: JSON.stringify({ scenario, options }),
          maxBuffer: 2 ** 26,
        }).stdout,
      ),
    ),
  )
  const of = (pick) => median(samples.map(pick))
  return {
    ...samples[0].result,
    processMs: of(({ ms }) => ms),
    searchMs: of(({ result }) => result.searchMs),
    peakBytes: of(({ result }) => result.peakBytes),
  }
}

const mustAgree = (what, mine, theirs) => {
  if (theirs !== 'unfinished' && mine !== theirs) {
    throw new Error(`${what}: ppcheck says ${mine}, the other ${theirs}`)
  }
}

const rate = ({ states, searchMs }) => (states / searchMs) * 1000

/** Every rung, bounded to three steps: who knows the verdict first, all included? */
function timeToVerdict({ say, table }) {
  say('### Time to verdict, reduction on both sides')
  say()
  say('The ladder bounded to three steps of one batch, two places, launch order free. SPIN: `spin')
  say('-a`, `gcc -O2` and the search with its partial-order reduction, memory and time limited to')
  say(
    `${limits.memoryMiB} MiB and ${limits.timeoutMs / 1000} s of search; where a limit cut it, the`,
  )
  say('ratio is a lower bound. ppcheck: a whole process. Medians.')
  say()
  const head = ['scenario', 'verdict', 'SPIN states', 'SPIN', 'states', 'ppcheck', 'ratio']
  const rows = []
  const sum = { theirs: 0, mine: 0 }
  for (const pp of [4, 5]) {
    for (const { id } of ladder) {
      const workload = { steps: 3, choices: [{}] }
      const scenario = fieldScenario(id, { pp, workload, properties })
      const mine = ours(scenario, {})
      const first = spin(scenario, [], limits)
      mustAgree(`${id} PP${pp}`, mine.outcome, first.outcome)
      process.stderr.write(`${id}, PP${pp}: SPIN ${first.outcome}\n`)
      const isCut = first.outcome === 'unfinished'
      const more = isCut ? [] : Array.from({ length: runs - 1 }, () => spin(scenario, [], limits))
      const theirs = median([first, ...more].map(({ buildMs, searchMs }) => buildMs + searchMs))
      sum.theirs += theirs
      sum.mine += mine.processMs
      rows.push([
        `${id}, PP${pp}`,
        mine.outcome,
        isCut ? 'cut' : thousands(first.states),
        seconds(theirs),
        thousands(mine.states),
        seconds(mine.processMs),
        `${isCut ? '≥ ' : ''}${ratio(theirs, mine.processMs)}`,
      ])
    }
  }
  rows.push([
    'all',
    '',
    '',
    seconds(sum.theirs),
    '',
    seconds(sum.mine),
    ratio(sum.theirs, sum.mine),
  ])
  table(head, rows)
}

/** No reduction anywhere: the same states, so that only the loops are compared. */
function unreduced({ say, table }) {
  say('### States a second, no reduction on either side')
  say()
  const scenarios = [
    ['stabilized', 3, { window: 1, workload: { steps: 2, choices: [{}] } }],
    ['fixed-four', 4, { window: 1, workload: { steps: 1, choices: [{}] } }],
  ]
  const head = ['scenario', 'tool', 'states', 'search', 'states/s', 'ratio', 'peak memory']
  const rows = []
  for (const [id, pp, overrides] of scenarios) {
    const device = { residentCollectives: 3 }
    const scenario = fieldScenario(id, { pp, properties, device, ...overrides })
    const { steps } = overrides.workload
    const name = `${id}, PP${pp}, window 1, ${steps} step${steps > 1 ? 's' : ''}`
    const mine = ours(scenario, none)
    rows.push([
      name,
      'ppcheck',
      thousands(mine.states),
      seconds(mine.searchMs),
      thousands(rate(mine)),
      '',
      mebibytes(mine.peakBytes),
    ])
    for (const [tool, defines] of [
      ['SPIN -DNOREDUCE', ['-DNOREDUCE']],
      ['SPIN, its reduction', []],
    ]) {
      const samples = Array.from({ length: runs }, () => spin(scenario, defines, limits))
      mustAgree(name, mine.outcome, samples[0].outcome)
      const searchMs = median(samples.map((sample) => sample.searchMs))
      const theirs = { ...samples[0], searchMs }
      rows.push([
        name,
        tool,
        thousands(theirs.states),
        seconds(searchMs),
        thousands(rate(theirs)),
        ratio(rate(mine), rate(theirs)),
        mebibytes(theirs.peakBytes),
      ])
    }
    const tlc = throughTlc(scenario)
    if (tlc === undefined) continue
    mustAgree(`${name} (TLC)`, mine.outcome, tlc.outcome)
    rows.push([
      name,
      'TLC, 2 workers',
      thousands(tlc.states),
      seconds(tlc.searchMs),
      thousands(rate(tlc)),
      ratio(rate(mine), rate(tlc)),
      '',
    ])
  }
  table(head, rows)
  if (process.env.PPCHECK_TLA2TOOLS === undefined) {
    say('TLC was not run: `PPCHECK_TLA2TOOLS` names no tla2tools.jar.')
    say()
  }
}

/** TLC on the exported module, where its jar is named. */
function throughTlc(scenario) {
  const jar = process.env.PPCHECK_TLA2TOOLS
  if (jar === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'ppcheck-bench-'))
  try {
    const text = toTla(scenario)
    const [, name] = /MODULE (\w+)/.exec(text)
    writeFileSync(join(folder, `${name}.tla`), text)
    writeFileSync(join(folder, `${name}.cfg`), text.split('.cfg:\n')[1])
    const args = ['-cp', jar, 'tlc2.TLC', '-workers', '2', name]
    const { result, ms } = timed(() => spawnSync('java', args, { cwd: folder, encoding: 'utf8' }))
    const states = Number(
      /, (\d[\d,]*) distinct states found/.exec(result.stdout)?.[1].replaceAll(',', ''),
    )
    const isClean = /No error has been found/.test(result.stdout)
    return { states, searchMs: ms, outcome: isClean ? 'holds' : 'violated' }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** XState in the loop, on a model small enough for it. */
function againstXState({ say, table }) {
  say('### Against XState in the loop')
  say()
  say(
    '`stabilized` at PP2, window 1, two steps, no reduction: the same world, with every step of a',
  )
  say('rank asked of `transition()`, and as one machine explored by `xstate/graph`.')
  say()
  const workload = { steps: 2, choices: [{}] }
  const device = { residentCollectives: 3 }
  const scenario = fieldScenario('stabilized', { pp: 2, window: 1, device, properties, workload })
  const mine = ours(scenario, none)
  const rows = [
    ['ppcheck', thousands(mine.states), seconds(mine.searchMs), thousands(rate(mine)), ''],
  ]
  for (const [name, explore] of [
    ['`transition()`', throughTransition],
    ['`xstate/graph`', throughGraph],
  ]) {
    const samples = Array.from({ length: runs }, () => timed(() => explore(scenario)))
    const { states, outcome } = samples[0].result
    mustAgree(name, mine.outcome, outcome)
    if (states !== mine.states) throw new Error(`${name}: ${states} states, not ${mine.states}`)
    const searchMs = median(samples.map(({ ms }) => ms))
    const perSecond = rate({ states, searchMs })
    rows.push([
      name,
      thousands(states),
      seconds(searchMs),
      thousands(perSecond),
      ratio(rate(mine), perSecond),
    ])
  }
  table(['tool', 'states', 'search', 'states/s', 'ratio'], rows)
}

export function peers(page) {
  page.say('## Against what one would use instead')
  page.say()
  if (spinIsMissing) {
    page.say('SPIN was not run: it is not installed (`apt-get install spin`).')
    page.say()
  } else {
    timeToVerdict(page)
    unreduced(page)
  }
  againstXState(page)
}
