// The commands that exist. Adding one is a line here and a file in commands/; its options are those
// of options.ts that name it.

import type { CommandDeclaration } from './command.ts'

/** For commands that search: their first thread loads beside them. */
const besideThread =
  (load: CommandDeclaration['load']): CommandDeclaration['load'] =>
  async () => {
    const { startEarly } = await import('./pool.ts')
    startEarly()
    return load()
  }

export const commandList: readonly CommandDeclaration[] = [
  {
    name: 'explore',
    summary: 'check a variant or a protocol file of your own, and show how it breaks',
    arguments: '[scenario...]',
    load: besideThread(() => import('./commands/explore.ts')),
  },
  {
    name: 'ladder',
    summary: "the field report's fixes, one by one: what each buys and what remains",
    load: besideThread(() => import('./commands/ladder.ts')),
  },
  {
    name: 'museum',
    summary: 'public bugs before and after their fixes, each searched for anew',
    arguments: '[id...]',
    load: besideThread(() => import('./commands/museum.ts')),
  },
  {
    name: 'ablate',
    summary: 'every subset of the fixes: which are enough, and what each missing one leaves open',
    arguments: '[file]',
    load: besideThread(() => import('./commands/ablate.ts')),
  },
  {
    name: 'gate',
    summary: 'the CI regression gate: what ppcheck.config.ts lists against committed verdicts',
    load: besideThread(() => import('./commands/gate.ts')),
  },
  {
    name: 'infer',
    summary: 'what must be assumed for outcomes that were seen, and what to run next',
    arguments: '[observations]',
    load: besideThread(() => import('./commands/infer.ts')),
  },
  {
    name: 'simulate',
    summary: 'a long run under real traffic in virtual time, every property watched',
    arguments: '[scenario]',
    load: () => import('./commands/simulate.ts'),
  },
  {
    name: 'replay',
    summary: 'run one schedule or trace again, event by event, through XState itself',
    arguments: '<schedule> [scenario...]',
    load: () => import('./commands/replay.ts'),
  },
  {
    name: 'export',
    summary: 'the machine of a rank, exactly as it is explored, for Mermaid or XState',
    arguments: '[scenario...]',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'run',
    summary: 'run a variant live: one process a rank, on GPUs or on emulated ones',
    arguments: '[scenario...]',
    load: () => import('./commands/run.ts'),
  },
  {
    name: 'diagnose',
    summary: 'dumps, logs and stacks of a real wedge: who is to blame, which hazard, which fix',
    arguments: '<dump...>',
    load: () => import('./commands/diagnose.ts'),
  },
  {
    name: 'calibrate',
    summary: 'measure a GPU: how many collectives spin side by side, and what starts beside them',
    load: () => import('./commands/calibrate.ts'),
  },
  {
    name: 'doctor',
    summary: 'what can run here, and for what is missing the reason and the remedy',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'init',
    summary: 'write a commented protocol file of a small engine, to start from',
    load: () => import('./commands/init.ts'),
  },
]
