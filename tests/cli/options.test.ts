// The option table, read through the same parser as the real command line, with stand-in commands.

import { describe, expect, test } from 'vitest'
import type { CommandDeclaration } from '../../cli/command.ts'
import { type CommandName, flagName, type OptionValues, optionEntries } from '../../cli/options.ts'
import { parseCommandLine } from '../../cli/program.ts'

const declare = (name: CommandName): CommandDeclaration => ({
  name,
  summary: 'a stand-in',
  arguments: '[words...]',
  load: () => Promise.reject(new Error('a stand-in is never loaded')),
})
const names: CommandName[] = [
  'explore',
  'ladder',
  'museum',
  'infer',
  'ablate',
  'gate',
  'simulate',
  'replay',
  'export',
  'run',
  'calibrate',
  'diagnose',
  'doctor',
  'init',
]
const commands = names.map(declare)

const parse = async (line: string): Promise<OptionValues> => {
  const parsed = await parseCommandLine(line.split(' '), commands)
  if (parsed === undefined) throw new Error('nothing parsed')
  return parsed.options
}

const errorOf = async (line: string): Promise<string> => {
  try {
    await parse(line)
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint?: string }
    return `${code} ${message}${hint === undefined ? '' : ` — ${hint}`}`
  }
  return 'no error'
}

describe('values', () => {
  test('of every kind', async () => {
    const line =
      'explore --pp 4 --window 5 --resident 2 --metadata none --launch-order host-program' +
      ' --draft full-graph --header-check consume --transport gloo --receive draft-deferred' +
      ' --send offloaded --steps 12 --requests 3 --drafts-per-step 5 --hardware-queues 8' +
      ' --eager 0 --module-loading lazy --activation-communicator group' +
      ' --token-communicator shared --faults rank-dies,draft-stall --faults rpc-lost' +
      ' --reduction none --max-states 1000 --memory 1.5G --time-limit 2m --seed 0xff' +
      ' --workers auto --property P1,deadlock-freedom --continue --require exhaustive --quiet' +
      ' --no-color --variant capped --reporter json=a=b.json --reporter default'
    expect(await parse(line)).toEqual({
      pp: 4,
      window: 5,
      resident: 2,
      metadata: 'none',
      launchOrder: 'host-program',
      draft: 'full-graph',
      headerCheck: 'consume',
      transport: 'gloo',
      receive: 'draft-deferred',
      send: 'offloaded',
      steps: 12,
      requests: 3,
      draftsPerStep: 5,
      hardwareQueues: 8,
      eager: 0,
      moduleLoading: 'lazy',
      activationCommunicator: 'group',
      tokenCommunicator: 'shared',
      faults: ['rank-dies', 'draft-stall', 'rpc-lost'],
      mode: 'exhaustive',
      reduction: 'none',
      maxStates: 1000,
      memory: 1.5 * 2 ** 30,
      timeLimitMs: 120_000,
      seed: 255n,
      workers: 'auto',
      property: ['P1', 'deadlock-freedom'],
      continue: true,
      require: 'exhaustive',
      quiet: true,
      color: false,
      variant: 'capped',
      reporter: [
        { name: 'json', file: 'a=b.json' },
        { name: 'default', file: undefined },
      ],
    })
  })

  test('what is not given and has no default is not there: the variant decides', async () => {
    expect(await parse('explore')).toEqual({
      mode: 'exhaustive',
      reduction: 'stubborn',
      color: true,
    })
    expect(await parse('doctor')).toEqual({ color: true })
  })

  test('seeds are decimal, hex or a commit; sizes and durations have units', async () => {
    expect((await parse('explore --seed 18446744073709551615')).seed).toBe(2n ** 64n - 1n)
    const commit = '9a1a1050ffeeddccbbaa99887766554433221100'
    expect((await parse(`explore --seed ${commit}`)).seed).toBe(0x9a1a1050ffeeddccn)
    expect((await parse('explore --memory 512MiB')).memory).toBe(512 * 2 ** 20)
    expect((await parse('explore --memory 4096')).memory).toBe(4096)
    expect((await parse('explore --time-limit 30')).timeLimitMs).toBe(30_000)
    expect((await parse('explore --time-limit 250ms')).timeLimitMs).toBe(250)
  })

  test('observed outcomes of the ladder', async () => {
    expect((await parse('ladder --observed wedge,clean')).observed).toEqual(['wedge', 'clean'])
  })

  test('global options may stand before the command', async () => {
    expect(await parse('--quiet explore')).toMatchObject({ quiet: true })
  })
})

describe('errors', () => {
  const notInteger = [
    '0',
    '-1',
    '1.5',
    'NaN',
    'Infinity',
    '1e3',
    '0x10',
    'four',
    '٣',
    '9'.repeat(20),
  ]
  test.each(notInteger)('--window %s is no window', async (text) => {
    const shown = text === '٣' ? '"٣"' : text
    expect(await errorOf(`explore --window ${text}`)).toBe(
      `PPC101 window must be an integer from 1 to 63, got ${shown} (--window)`,
    )
  })

  test('blank values are shown as such', async () => {
    expect(await errorOf('explore --window=')).toContain('got "" (--window)')
    expect(await errorOf('explore --variant=')).toBe('PPC102 variant must not be empty (--variant)')
    expect(await errorOf('explore --faults a,,b')).toBe(
      'PPC102 faults must not be empty (--faults)',
    )
  })

  test.each([
    ['explore --max-states 0', 'PPC101 max states must be an integer ≥ 1, got 0 (--max-states)'],
    ['explore --eager -1', 'PPC101 eager must be an integer from 0 to 1024, got -1 (--eager)'],
    [
      'explore --draft eagre',
      'PPC102 draft must be one of full-graph, eager, got eagre (--draft) — did you mean eager?',
    ],
    [
      'explore --mode lucky',
      'PPC102 mode must be one of exhaustive, random, both, got lucky (--mode)',
    ],
    [
      'explore --workers many',
      'PPC101 workers must be an integer from 1 to 256, got many (--workers)',
    ],
    ['explore --memory 0', 'PPC112 memory must be a size such as 512M or 2G, got 0 (--memory)'],
    [
      'explore --time-limit 5x',
      'PPC112 time limit must be a duration such as 30s or 5m, got 5x (--time-limit)',
    ],
    [
      'explore --seed 18446744073709551616',
      'PPC101 seed must be a number below 2^64 or a 40-digit commit,' +
        ' got 18446744073709551616 (--seed)',
    ],
    ['explore --pp 3 --pp 4', 'PPC107 pp is given twice (--pp)'],
    [
      'ladder --observed wedge,ok',
      'PPC102 observed must be one of wedge, clean, got ok (--observed)',
    ],
    ['explore --reporter jsom', 'PPC106 unknown reporter "jsom" (--reporter) — did you mean json?'],
    ['explore --reporter json=', 'PPC106 reporter json has no file after "=" (--reporter)'],
    ['explore --windwo 3', 'PPC104 unknown option of explore "--windwo" — did you mean --window?'],
    [
      'doctor --window 3',
      'PPC104 unknown option of doctor "--window" — it belongs to' +
        ' explore, ladder, simulate, replay, export, run, ablate',
    ],
    ['expolre', 'PPC103 unknown command "expolre" — did you mean explore?'],
    ['help expolre', 'PPC103 unknown command "expolre" — did you mean explore?'],
  ])('%s', async (line, message) => {
    expect(await errorOf(line)).toBe(message)
  })
})

describe('the table', () => {
  test('flags are unique and every entry belongs to a known command', () => {
    const flags = optionEntries.map(([, spec]) => flagName(spec))
    expect(new Set(flags).size).toBe(flags.length)
    for (const [, spec] of optionEntries) {
      if (spec.commands === 'all') continue
      expect(spec.commands.length).toBeGreaterThan(0)
      for (const name of spec.commands) expect(names).toContain(name)
    }
  })

  test('help is one short line, and every default passes its own parser', () => {
    for (const [, spec] of optionEntries) {
      expect(spec.help).not.toMatch(/\.$|\n/)
      expect(spec.help.length).toBeLessThanOrEqual(80)
      if (spec.parse !== undefined && spec.default !== undefined) {
        expect(spec.parse(String(spec.default), '', '')).toEqual(spec.default)
      }
    }
  })
})
