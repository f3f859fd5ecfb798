// Where the dumps of real wedges lie, and how a test asks the command about them.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readFiles } from '../../cli/diagnose/read-files.ts'
import type { Diagnosis } from '../../sim/diagnosis/diagnose.ts'
import { diagnose } from '../../sim/diagnosis/diagnose.ts'

/** Recorded for this project over Gloo: pickles, JSON twins and stderr. */
export const gloo = fileURLToPath(new URL('./gloo/', import.meta.url))

/** Third-party samples beside the checkout; undefined where they are not. */
const beside = fileURLToPath(new URL('../../../shared/samples/', import.meta.url))
export const thirdParty = existsSync(beside) ? beside : undefined

export const diagnoseFiles = async (...paths: string[]): Promise<Diagnosis> =>
  diagnose((await readFiles(paths)).evidence)

/** `rank:kind` of every culprit. */
export const blamed = ({ culprits }: Diagnosis): string[] =>
  culprits.map(({ rank, kind }) => `${rank}:${kind}`)
