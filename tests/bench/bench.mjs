// `npm run bench`: measures, and writes docs/benchmarks.md with docs/growth.svg. Nothing here is a
// test: a slow machine is no failure. Verdicts are asserted all the same. A part by itself:
// `npm run bench -- peers`; the page is written only when all parts ran.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { growth, growthSvg } from './growth.mjs'
import { createPage, machine, root } from './measure.mjs'
import { peers } from './peers.mjs'
import { random } from './random.mjs'
import { wholeProcesses } from './whole-processes.mjs'

const page = createPage()
let points = []
const parts = {
  'whole-processes': () => wholeProcesses(page),
  growth: () => {
    points = growth(page)
  },
  random: () => random(page),
  peers: () => peers(page),
}
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => parts[name] === undefined)
if (unknown.length > 0) throw new Error(`no part ${unknown}; parts: ${Object.keys(parts)}`)

page.say('# Benchmarks')
page.say()
page.say(`Written by \`npm run bench\`. ${machine()}.`)
page.say('A shared machine: trust the ratios more than the seconds. GPU measurements were not run:')
page.say('there was no GPU.')
page.say()
for (const [name, run] of Object.entries(parts)) {
  if (wanted.length === 0 || wanted.includes(name)) await run()
}
if (wanted.length === 0) {
  writeFileSync(join(root, 'docs', 'benchmarks.md'), page.text())
  writeFileSync(join(root, 'docs', 'growth.svg'), growthSvg(points))
}
