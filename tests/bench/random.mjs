// Random schedules and the long soak: how many a second, on how many cores.

import { median, processMs, runs, seconds, thousands, timed } from './measure.mjs'

const sim = (name) => import(`../../dist/sim/${name}.js`)
const schedules = 20_000

export async function random({ say, table }) {
  const { BulkRun } = await sim('bulk-run')
  const { PropertyRunner } = await sim('property-run')
  const { Soak, soakChoices, stressShape } = await sim('soak')
  const { fieldScenario } = await import('../../dist/spec/protocols/index.js')
  const workload = { steps: 4, choices: [{}, { mask: 'empty' }, { proposal: false }] }
  const scenario = fieldScenario('stabilized', { pp: 8, workload })
  say('## Random schedules')
  say()
  say(
    '`stabilized` at PP8, window 8, 4 steps, one core, tables filled before. Bulk runs take every',
  )
  say(
    'interleaving, event by event; property runs (fast-check) take those that the reduction keeps.',
  )
  say()
  const bulk = new BulkRun(scenario, 1)
  const property = () => {
    const sizes = [{ pp: 8, steps: 4, scenario }]
    const { failure } = new PropertyRunner(sizes, { runs: schedules, seed: 1 }).run()
    if (failure !== undefined) throw new Error('stabilized fails')
  }
  const bulkOnce = (from) => {
    if (bulk.run(from, from + schedules) !== undefined) throw new Error('stabilized fails')
  }
  bulkOnce(0)
  property()
  const bulkMs = []
  const propertyMs = []
  const before = bulk.events
  for (let run = 1; run <= runs; run++) {
    bulkMs.push(timed(() => bulkOnce(run * schedules)).ms)
    propertyMs.push(timed(property).ms)
  }
  const perRun = (bulk.events - before) / (runs * schedules)
  const rate = (ms) => (schedules / median(ms)) * 1000
  table(
    ['', 'schedules/s', 'events/s'],
    [
      ['bulk runs', thousands(rate(bulkMs)), thousands(rate(bulkMs) * perRun)],
      ['property runs', thousands(rate(propertyMs)), 'reduced'],
    ],
  )
  const soakMs = []
  let events = 0
  for (let run = 0; run < runs; run++) {
    const shape = { ...stressShape, seed: 1 }
    const soaked = { ...scenario, workload: { steps: 0, script: [], choices: [...soakChoices] } }
    const { result, ms } = timed(() => {
      const soak = new Soak(soaked, shape)
      soak.advance(shape.iterations)
      return soak.report()
    })
    if (result.end !== 'done' || result.stalls !== 0)
      throw new Error(`the soak ended ${result.end}`)
    soakMs.push(ms)
    events = result.events
  }
  say("The report's stress run (66 minutes on eight GPUs, 35 924 iterations) in virtual time:")
  say(`${seconds(median(soakMs))}, ${thousands((events / median(soakMs)) * 1000)} events/s.`)
  say()
  say('100 000 bulk runs of `stabilized` as a command, 6 steps, all cores:')
  const args = ['explore', '--mode', 'random', '--bulk', '--variant', 'stabilized', '--quiet']
  say(`${seconds(processMs([...args, '--runs', '100000'], 0))}.`)
  say()
}
