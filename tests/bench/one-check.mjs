// One search in a process of its own, for peers.mjs: reads `{ scenario, options }` as JSON from
// stdin and writes the verdict's figures as JSON. Peak memory is the whole process's.

import { readFileSync } from 'node:fs'
import { check } from '../../dist/sim/search/check.js'

const { scenario, options } = JSON.parse(readFileSync(0, 'utf8'))
const start = performance.now()
const { outcome, states, transitions, bytes } = check(scenario, options)
const searchMs = performance.now() - start
const peakBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(JSON.stringify({ outcome, states, transitions, bytes, searchMs, peakBytes }))
