// `ppcheck diagnose`: dumps, logs and stacks of a real wedge in; who is to blame, which hazard that
// is and what removes it out. Says "insufficient evidence" (code 5) rather than guess.

import { diagnose } from '../../sim/diagnosis/diagnose.ts'
import { fail } from '../../spec/error.ts'
import type { Invocation } from '../command.ts'
import { readFiles } from '../diagnose/read-files.ts'
import { htmlOf, markdownOf, storyOf, tableOf, textOf } from '../diagnose/story.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'

const codes = {
  'nothing-wrong': exitCodes.holds,
  explained: exitCodes.violated,
  insufficient: exitCodes.inconclusive,
} as const

export async function run({ args, options, progress }: Invocation): Promise<Report> {
  const rankFrom = options.rankFrom === undefined ? undefined : patternOf(options.rankFrom)
  const tick = (done: string): void => progress.update(() => `reading ${done}`)
  const { evidence, files, watchdog } = await readFiles(
    args,
    rankFrom ? { rankFrom, tick } : { tick },
  )
  const diagnosis = diagnose(evidence)
  const told = { evidence, diagnosis, files }
  const { outcome, culprits, divergence, cycle, mismatches, stalls, hazards, missing } = diagnosis
  return {
    command: 'diagnose',
    exitCode: codes[outcome],
    data: {
      outcome,
      culprits,
      divergence,
      cycle,
      hazards,
      missing,
      mismatches,
      stalls,
      edges: diagnosis.edges,
      story: storyOf(told),
      table: tableOf(told),
      ranks: [...evidence.ranks].sort((a, b) => a - b),
      contradictions: evidence.contradictions,
      signs: evidence.signs,
      notes: evidence.notes,
      watchdog,
      files,
    },
    text: (paint) => textOf(told, paint),
    markdown: () => markdownOf(told),
    html: () => htmlOf(told),
  }
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    fail('PPC111', `rank from is no regular expression: ${text} (--rank-from)`)
  }
}
