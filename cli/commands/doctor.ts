// `ppcheck doctor`: what can run here. Always ends with 0: a missing GPU is a fact and no fault.

import type { ChalkInstance } from 'chalk'
import { type Host, type Probe, probeAll, thisHost } from '../../backend-cuda/probe.ts'
import type { Invocation } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Report } from '../reporters/report.ts'

export const run = (_invocation: Invocation, host: Host = thisHost): Report => {
  const probes = probeAll(host)
  return {
    command: 'doctor',
    exitCode: exitCodes.holds,
    data: { probes },
    text: (paint) => probes.map((probe) => probeText(probe, paint)).join('\n'),
  }
}

function probeText(probe: Probe, paint: ChalkInstance): string {
  const about = `${probe.name.padEnd(12)} ${paint.dim(probe.purpose)}`
  if (probe.available) return `${paint.green('ok     ')} ${about}\n        ${probe.found}`
  const reason = `        ${probe.reason}`
  const remedy = `        to mend it: ${paint.bold(probe.remedy)}`
  return `${paint.yellow('missing')} ${about}\n${reason}\n${remedy}`
}
