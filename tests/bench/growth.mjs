// How states and time grow with the pipeline and with the window; writes docs/growth.svg.

import { check } from '../../dist/sim/search/check.js'
import { fieldScenario } from '../../dist/spec/protocols/index.js'
import { mebibytes, seconds, thousands, timed } from './measure.mjs'

/** @returns the points of the plot. */
export function growth({ say }) {
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
    const scenario = fieldScenario('capped', {
      pp,
      switches: { draftExecution: 'eager', headerCheck: 'consume' },
    })
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

/** States over pp on a logarithmic scale: no library, it is one polyline. */
export function growthSvg(points) {
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
