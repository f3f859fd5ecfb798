// From a verdict to the hazards of the field report that leave this shape, how to see the same in
// the model, and the fix that removes it there.

import type { Phase } from './phase.ts'

export interface HazardMatch {
  readonly id: 'H1' | 'H2' | 'H3' | 'H4' | 'H5'
  readonly name: string
  readonly because: string
  /** Reproduces the shape in the model. */
  readonly explore: string
  readonly fix: string
  /** The same command with the fix: it must hold. */
  readonly confirm: string
}

/** What is known of the wedge, as far as hazards ask. */
export interface Shape {
  readonly pp: number
  /** Is the first divergence on a communicator whose operations repeat like a step's payloads? */
  readonly phase: Phase | undefined
  readonly tokenBroadcast: boolean
  readonly kind: 'host' | 'device' | 'mismatch' | 'dead' | 'unknown' | undefined
  readonly lastRankBehind: boolean
  readonly receiverBehind: boolean
  readonly crossCommunicator: boolean
  /** Everybody has issued the open operations, and nobody finishes them. */
  readonly allIssued: boolean
  readonly gloo: boolean
}

export function hazardsOf(shape: Shape): HazardMatch[] {
  const { pp, phase, tokenBroadcast, kind } = shape
  if (!tokenBroadcast && !shape.crossCommunicator) return []
  const size = `--pp ${Math.max(3, Math.min(pp, 8))}`
  const found: HazardMatch[] = []
  const add = (id: HazardMatch['id'], because: string): void => {
    found.push({ id, because, ...known(id, size) })
  }
  if (kind === 'mismatch') add('H1', 'ranks issued different payloads at one position')
  if (kind === 'host' && shape.receiverBehind && !shape.crossCommunicator) {
    const what = phase === undefined ? 'a payload' : `${phase.payload} of step ${phase.step}`
    add('H1', `a receiver never posted ${what} although the others did`)
  }
  if (kind === 'host' && shape.lastRankBehind) {
    if (phase?.payload === 'drafts') {
      add('H1', 'receivers posted the draft receive, the last rank never sent drafts')
      if (shape.gloo) add('H4', 'receivers block in the draft receive on a CPU transport')
      add('H5', 'the last rank stands before its draft broadcast: the proposal has not ended')
    } else {
      add('H2', 'receivers are in the next step while the last rank has completed the one before')
    }
  }
  if (shape.crossCommunicator) {
    if (phase?.payload === 'drafts') {
      add('H5', 'the circle closes over the draft broadcast, which waits for the proposal')
    }
    add('H3', 'ranks wait for each other on different communicators of one device')
  } else if (shape.allIssued || kind === 'device') {
    add('H3', 'all ranks have issued the broadcast and it does not complete')
    if (phase?.payload === 'drafts') add('H5', 'the draft broadcast is the one that stands')
  }
  return found
}

/** Eager drafts and headers that nobody waits for leave the window as the only cause. */
const unchecked = '--draft eager --header-check consume'

function known(
  id: HazardMatch['id'],
  size: string,
): Pick<HazardMatch, 'name' | 'explore' | 'fix' | 'confirm'> {
  switch (id) {
    case 'H1':
      return {
        name: 'data-dependent-schedule',
        explore: `ppcheck explore upstream-fork ${size}`,
        fix: 'post a fixed schedule every step, with sentinels, and a header that is checked',
        confirm: `ppcheck explore stabilized ${size}`,
      }
    case 'H2':
      return {
        name: 'extra-in-flight-batch',
        explore: `ppcheck explore fixed-four-header64 ${size} ${unchecked}`,
        fix: 'cap the batches in flight at pp, and move the tokens off the device',
        confirm: `ppcheck explore capped ${size} ${unchecked}`,
      }
    case 'H3':
      return {
        name: 'communicator-contention',
        explore: `ppcheck explore capped ${size} --draft eager --resident 1`,
        fix: 'move the token payloads to a CPU transport, or fix the launch order',
        confirm: `ppcheck explore stabilized ${size}`,
      }
    case 'H4':
      return {
        name: 'host-blocking-draft',
        explore: `ppcheck explore gloo-deferred ${size} --receive blocking`,
        fix: 'defer the draft receive until it is consumed, and draft eagerly',
        confirm: `ppcheck explore stabilized ${size}`,
      }
    case 'H5':
      return {
        name: 'draft-graph-stall',
        explore: `ppcheck explore gloo-deferred ${size}`,
        fix: 'run the draft eagerly; the target model may keep its graphs',
        confirm: `ppcheck explore stabilized ${size}`,
      }
  }
}
