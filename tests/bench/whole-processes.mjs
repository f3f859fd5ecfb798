// Time to verdict as a user has it: the command, Node's start-up included.

import { processMs, runs, seconds } from './measure.mjs'

export function wholeProcesses({ say, table }) {
  say('## Time to verdict, whole process')
  say()
  say(`Medians of ${runs} runs of the command, Node's start-up included.`)
  say()
  const eager = ['--draft', 'eager', '--header-check', 'consume', '--resident', '2']
  const cases = [
    [['--help'], 0],
    [['explore', '--variant', 'capped', '--pp', '3', '--resident', '2'], 3],
    [['explore', '--variant', 'capped', '--resident', '2'], 3],
    [['explore', '--variant', 'fixed-four-header64', ...eager], 3],
    [['explore', '--variant', 'stabilized', '--resident', '1'], 0],
    [['explore', '--variant', 'stabilized', '--resident', '1', '--window', '9'], 0],
    [['explore', '--variant', 'stabilized', '--resident', '3', '--metadata', 'rendezvous'], 0],
    [['explore', '--variant', 'capped', '--pp', '4', ...eager], 0],
    [['explore', '--variant', 'capped', '--pp', '5', ...eager], 0],
    [['ladder'], 0],
  ]
  const rows = cases.map(([args, exitCode]) => [
    `\`ppcheck ${args.join(' ')}\``,
    exitCode,
    seconds(processMs(args, exitCode)),
  ])
  table(['command', 'exit', 'time'], rows)
}
