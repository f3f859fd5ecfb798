// `npm run bench`: measures, and writes docs/benchmarks.md with docs/growth.svg. Figures are
// medians of several runs in one sitting, and ratios compare runs that were taken in turn. Nothing
// here is a test: a slow machine is no failure. Verdicts are asserted all the same.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { check } from '../../dist/sim/search/check.js'
import { fieldScenario } from '../../dist/spec/protocols/index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const runs = Number(process.env.PPCHECK_BENCH_RUNS ?? 5)
const lines = []
const say = (line = '') => {
  lines.push(line)
  process.stdout.write(`${line}\n`)
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

const timed = (work) => {
  const start = performance.now()
  const result = work()
  return { result, ms: performance.now() - start }
}

/** Median time of a whole `ppcheck` process, start-up included. */
const processMs = (args, exitCode) => {
  const times = []
  for (let run = 0; run < runs; run++) {
    const { result, ms } = timed(() =>
      spawnSync(process.execPath, ['dist/cli/main.js', ...args], { cwd: root, encoding: 'utf8' }),
    )
    if (result.status !== exitCode) {
      throw new Error(`ppcheck ${args.join(' ')} ended with ${result.status}: ${result.stderr}`)
    }
    times.push(ms)
  }
  return median(times)
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
const thousands = (n) =>
  Math.round(n)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ' ')

const eagerAtConsume = { draftExecution: 'eager', headerCheck: 'consume' }
const oneBatch = { choices: [{}] }

const machine = () => {
  const [cpu] = cpus()
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ')[0]
  return `${cpus().length} × ${cpu.model}, Node ${process.version}, load ${load} at the start`
}

function wholeProcesses() {
  say('## Time to verdict, whole process')
  say()
  say(`Medians of ${runs} runs of the command, Node's start-up included.`)
  say()
  say('| command | exit | time |')
  say('| --- | --- | --- |')
  const eager = ['--draft', 'eager', '--header-check', 'consume', '--resident', '2']
  const cases = [
    [['--help'], 0],
    [['explore', '--variant', 'capped', '--pp', '3', '--resident', '2'], 3],
    [['explore', '--variant', 'capped', '--resident', '2'], 3],
    [['explore', '--variant', 'fixed-four-header64', ...eager], 3],
    [['explore', '--variant', 'stabilized', '--resident', '1'], 0],
    [['explore', '--variant', 'stabilized', '--resident', '1', '--window', '9'], 0],
    [['explore', '--variant', 'stabilized', '--resident', '3', '--metadata', 'rendezvous'], 0],
    [['explore', '--variant', 'capped', '--pp', '4', ...eager], 0],
    [['explore', '--variant', 'capped', '--pp', '5', ...eager], 0],
    [['ladder'], 0],
  ]
  for (const [args, exitCode] of cases) {
    say(`| \`ppcheck ${args.join(' ')}\` | ${exitCode} | ${seconds(processMs(args, exitCode))} |`)
  }
  say()
}

function growth() {
  say('## Growth with the pipeline')
  say()
  say('`capped` with eager drafts and the header checked at consume, two places: holds for any run')
  say('length. Reduced search.')
  say()
  say('| pp | window | states | transitions | time | memory of the visited set |')
  say('| --- | --- | --- | --- | --- | --- |')
  const points = []
  const ppMax = Number(process.env.PPCHECK_BENCH_PP ?? 6)
  for (let pp = 2; pp <= ppMax; pp++) {
    const scenario = fieldScenario('capped', { pp, switches: eagerAtConsume })
    const { result, ms } = timed(() => check(scenario, { memoryBytes: 8 * 2 ** 30 }))
    if (result.outcome !== 'holds') throw new Error(`pp ${pp}: ${result.outcome}`)
    points.push({ pp, states: result.states, ms })
    say(
      `| ${pp} | ${pp} | ${thousands(result.states)} | ${thousands(result.transitions)} | ` +
        `${seconds(ms)} | ${mebibytes(result.bytes)} |`,
    )
  }
  const tail = points.slice(-3)
  const base = (tail.at(-1).states / tail[0].states) ** (1 / (tail.length - 1))
  say()
  say(`Fitted over the last three: every further rank multiplies the states by ${base.toFixed(1)}.`)
  say()
  say('`stabilized`, one place, window 1..9 at PP8:')
  say()
  say('| window | states | time |')
  say('| --- | --- | --- |')
  for (let window = 1; window <= 9; window++) {
    const scenario = fieldScenario('stabilized', { window, device: { residentCollectives: 1 } })
    const { result, ms } = timed(() => check(scenario))
    if (result.outcome !== 'holds') throw new Error(`window ${window}: ${result.outcome}`)
    say(`| ${window} | ${thousands(result.states)} | ${seconds(ms)} |`)
  }
  say()
  say('![states over pp, logarithmic](growth.svg)')
  say()
  return points
}

function unreduced() {
  say('## The search itself, without any reduction')
  say()
  say('`fixed-four-header64` with eager drafts at PP4, window 1, two steps, stopped at 5 million')
  say('states: what one core does when every interleaving is visited.')
  say()
  const scenario = fieldScenario('fixed-four-header64', {
    pp: 4,
    window: 1,
    switches: eagerAtConsume,
    workload: { steps: 2, ...oneBatch },
  })
  const samples = Array.from({ length: runs }, () =>
    timed(() =>
      check(scenario, {
        reduction: 'none',
        walks: 0,
        directedStatesMax: 0,
        statesMax: 5e6,
        memoryBytes: 2 ** 31,
      }),
    ),
  )
  const ms = median(samples.map((sample) => sample.ms))
  const { states, transitions, bytes } = samples[0].result
  say('| states | states/s | transitions/s | bytes per state |')
  say('| --- | --- | --- | --- |')
  say(
    `| ${thousands(states)} | ${thousands((states / ms) * 1000)} | ` +
      `${thousands((transitions / ms) * 1000)} | ${(bytes / states).toFixed(1)} |`,
  )
  say()
}

/** SPIN on the exported Promela of the same scenario; undefined where it is not installed. */
function spin(scenario, toPromela, defines) {
  const folder = mkdtempSync(join(tmpdir(), 'ppcheck-bench-'))
  try {
    writeFileSync(join(folder, 'model.pml'), toPromela(scenario))
    const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
    const build = timed(() => {
      execFileSync('spin', ['-a', 'model.pml'], options)
      execFileSync('gcc', ['-O2', '-DSAFETY', ...defines, '-o', 'pan', 'pan.c'], options)
    })
    const search = timed(() => spawnSync('./pan', ['-m10000000', '-w24'], { ...options }))
    const out = search.result.stdout
    const states = Number(/([\d.e+]+) states, stored/.exec(out)?.[1] ?? Number.NaN)
    const errors = Number(/errors: (\d+)/.exec(out)?.[1] ?? Number.NaN)
    const memory = Number(/([\d.]+)\s+total actual memory usage/.exec(out)?.[1] ?? Number.NaN)
    return { buildMs: build.ms, searchMs: search.ms, states, errors, memory }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function againstSpin() {
  say('## Against SPIN')
  say()
  if (spawnSync('spin', ['-V']).error !== undefined) {
    say('Not run: `spin` is not installed (`apt-get install spin`).')
    say()
    return
  }
  let toPromela
  try {
    ;({ toPromela } = await import('../../dist/sim/export/promela.js'))
  } catch {
    say('Not run: this version has no Promela export.')
    say()
    return
  }
  say('Same scenario on both sides; verdicts are compared. SPIN: time of `spin -a`, `gcc -O2`')
  say(
    'and the search together, partial-order reduction as it is by default. ppcheck: whole process.',
  )
  say()
  say('| scenario | verdict | SPIN states | SPIN | ppcheck states | ppcheck | ratio |')
  say('| --- | --- | --- | --- | --- | --- | --- |')
  const cases = [
    ['capped', 4],
    ['stabilized', 4],
    ['capped', 5],
    ['stabilized', 5],
  ]
  for (const [variant, pp] of cases) {
    const workload = { steps: 4, choices: [{}] }
    const scenario = fieldScenario(variant, { pp, workload, properties: ['P1', 'P2', 'P10'] })
    const oursMs = []
    let verdict
    for (let run = 0; run < runs; run++) {
      const { result, ms } = timed(() => check(scenario))
      verdict = result
      oursMs.push(ms)
    }
    const theirs = spin(scenario, toPromela, ['-DMEMLIM=8000'])
    const same = theirs.errors > 0 === (verdict.outcome === 'violated')
    const startMs = processMs(['--help'], 0)
    const ours = median(oursMs) + startMs
    const spinMs = theirs.buildMs + theirs.searchMs
    say(
      `| ${variant}, PP${pp}, 4 steps | ${verdict.outcome}${same ? '' : ' (SPIN: unfinished)'} | ` +
        `${thousands(theirs.states)} | ${seconds(spinMs)} | ${thousands(verdict.states)} | ` +
        `${seconds(ours)} | ${(spinMs / ours).toFixed(1)}× |`,
    )
  }
  say()
}

/** States over pp on a logarithmic scale: no library, it is one polyline. */
function growthSvg(points) {
  const [width, height, margin] = [480, 300, 50]
  const logs = points.map(({ states }) => Math.log10(states))
  const top = Math.ceil(Math.max(...logs))
  const x = (pp) => margin + ((pp - 2) / (points.at(-1).pp - 2)) * (width - 2 * margin)
  const y = (log) => height - margin - (log / top) * (height - 2 * margin)
  const grid = Array.from({ length: top + 1 }, (_, k) => {
    const at = y(k).toFixed(1)
    return (
      `<line x1="${margin}" x2="${width - margin}" y1="${at}" y2="${at}" stroke="#ccc"/>` +
      `<text x="${margin - 6}" y="${at}" text-anchor="end" dy="4">10^${k}</text>`
    )
  }).join('')
  const path = points.map(({ pp }, i) => `${x(pp).toFixed(1)},${y(logs[i]).toFixed(1)}`).join(' ')
  const labels = points
    .map(
      ({ pp }) =>
        `<text x="${x(pp).toFixed(1)}" y="${height - 28}" text-anchor="middle">${pp}</text>`,
    )
    .join('')
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
    `font-family="sans-serif" font-size="12">` +
    '<title>States over pipeline size</title>' +
    `<rect width="100%" height="100%" fill="#fff"/>${grid}` +
    `<polyline points="${path}" fill="none" stroke="#0a58ca" stroke-width="2"/>${labels}` +
    `<text x="${width / 2}" y="${height - 8}" text-anchor="middle">pipeline size (pp)</text>` +
    '</svg>\n'
  )
}

say('# Benchmarks')
say()
say(`Written by \`npm run bench\`. ${machine()}.`)
say(
  'A shared machine: trust the ratios more than the seconds. GPU measurements were not run: there',
)
say('was no GPU.')
say()
wholeProcesses()
const points = growth()
unreduced()
await againstSpin()
writeFileSync(join(root, 'docs', 'benchmarks.md'), `${lines.join('\n').trimEnd()}\n`)
writeFileSync(join(root, 'docs', 'growth.svg'), growthSvg(points))
