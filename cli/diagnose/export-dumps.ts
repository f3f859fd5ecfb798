// A wedge of the model as flight-recorder dumps, one file a rank: the shortest counterexample of a
// scenario, or the run of a trace file.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { flightRecorderDump } from '../../sim/export/flight-recorder.ts'
import { recordRun } from '../../sim/export/transfers.ts'
import { decodeSchedule } from '../../sim/schedule.ts'
import { check } from '../../sim/search/check.ts'
import { fail } from '../../spec/error.ts'
import type { Scenario } from '../../spec/scenario.ts'
import { checkTarget, writeFileAtomically } from '../atomic-file.ts'
import { exitCodes } from '../exit-codes.ts'
import type { OptionValues } from '../options.ts'
import type { Report } from '../reporters/report.ts'
import { scenariosFrom } from '../scenario-source.ts'
import { readTrace } from '../trace-file.ts'

/** Writes `FOLDER/comm_lib_trace_rank_N`. */
export async function exportDumps(args: readonly string[], options: OptionValues): Promise<Report> {
  const folder = options.output
  if (folder === undefined) {
    fail('PPC107', 'flight-recorder dumps are one file a rank and need a folder', '--output DIR')
  }
  const { scenario, schedule } = await sourceOf(args, options)
  const run = recordRun(scenario, decodeSchedule(scenario, schedule))
  try {
    mkdirSync(folder, { recursive: true })
  } catch {
    fail('PPC109', `cannot write into ${folder}: no folder can be made there (--output)`)
  }
  const files = run.ranks.map((_, rank) => join(folder, `comm_lib_trace_rank_${rank}`))
  for (const file of files) checkTarget(file, '--output')
  files.forEach((file, rank) => {
    writeFileAtomically(file, flightRecorderDump(run, rank))
  })
  const text = [`${files.length} dumps in ${folder}`, `ppcheck diagnose ${folder}`].join('\n')
  return {
    command: 'export',
    exitCode: exitCodes.holds,
    data: { scenario: scenario.name, format: 'flight-recorder', schedule, files },
    text: () => text,
  }
}

async function sourceOf(
  args: readonly string[],
  options: OptionValues,
): Promise<{ readonly scenario: Scenario; readonly schedule: string }> {
  const [first, ...rest] = args
  if (first !== undefined && /\.ndjson$/.test(first)) {
    if (rest.length > 0) fail('PPC107', `${first} is a trace: leave out ${rest[0]}`)
    return readTrace(first)
  }
  const [{ scenario }, ...more] = await scenariosFrom(args, options)
  if (more.length > 0) {
    fail('PPC107', `one scenario is exported at a time, ${more.length + 1} are given`)
  }
  // A wedge is what leaves dumps; other broken properties end a run before anything hangs.
  const wedge = check({ ...scenario, properties: ['P1'] })
  const [found] = wedge.counterexamples
  if (found === undefined) {
    fail('PPC505', `${scenario.name} has no wedge to export (${wedge.outcome})`)
  }
  return { scenario: { ...scenario, properties: ['P1'] }, schedule: found.schedule }
}
