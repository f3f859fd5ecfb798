// Groups are created by blocking calls, and two engines serve them in different orders.

import { type Operation, rendezvous } from '../operation.ts'
import type { Scenario } from '../scenario.ts'
import { peers, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const join = (peer: number): Operation => rendezvous('join', peer)
const both = (peer: number): Operation[] => [join(peer), join(peer)]
const source: Operation[] = [join(0), join(3), join(0), join(3)]
const engine = (name: string, last: readonly Operation[]): Scenario =>
  staged(
    peers(name, {
      summary:
        'two sources create a group with both engines; a group is left when all have ' + 'joined',
      first: [...both(1), ...both(2)],
      middle: source,
      last,
    }),
    { pp: 4, workload: { steps: 1 } },
  )

export const slime2331 = defineCase({
  id: 'slime-2331',
  family: 'H13',
  reports: [{ id: 'slime#2331', url: 'https://github.com/THUDM/slime/pull/2331' }],
  mechanism:
    'Each pipeline source creates a group with all engines by a blocking call. ' +
    'One engine serves the first source first, another the second, and both ' +
    'creations wait for a request that stands behind the other.',
  engine: 'slime, weight update from two PP sources to two engines',
  knobs: ['xcomm', 'order'],
  exhibits: [
    {
      when: 'before',
      name: 'engines serve in different orders',
      violates: 'P1',
      scenario: () => engine('crossed-joins', [...both(2), ...both(1)]),
    },
    {
      when: 'after',
      name: 'all in the order of the sources',
      scenario: () => engine('ordered-joins', [...both(1), ...both(2)]),
    },
  ],
})
