// Which broadcast of which protocol step a sequence number is. The payloads of a step repeat, so
// the shortest period of their forms gives the step, and the forms give each payload its name.

import type { Call, Communicator } from './evidence.ts'

export interface Phase {
  /** 0-based step, counted from the first operation of the communicator. */
  readonly step: number
  /** `header`, `sampled`, `counts`, `drafts`. */
  readonly payload: string
  readonly period: number
}

const periodMax = 8

/** @returns undefined when the operations do not repeat as the payloads of a step do. */
export function phaseOf(communicator: Communicator, sequence: number): Phase | undefined {
  const forms = new Map<number, { readonly form: string; readonly call: Call }>()
  // Later standings do not overwrite: a rank that diverges must not rewrite what came before.
  for (const { calls } of communicator.standings.values()) {
    for (const call of calls.values()) {
      if (call.shape === undefined || !/^broadcast/.test(call.kind)) continue
      const form = `${call.dtype}/${call.shape.length}/${narrow(call.shape)}`
      if (!forms.has(call.sequence)) forms.set(call.sequence, { form, call })
    }
  }
  const numbers = [...forms.keys()].sort((a, b) => a - b)
  for (let period = 2; period <= periodMax; period++) {
    const pairs = numbers.filter((each) => forms.has(each + period))
    if (pairs.length < period) continue
    if (pairs.some((n) => forms.get(n)?.form !== forms.get(n + period)?.form)) continue
    const place = (n: number): number => (((n - 1) % period) + period) % period
    const known = numbers.find((n) => place(n) === place(sequence))
    const call = forms.get(known ?? -1)?.call
    if (call === undefined) return undefined
    const widths = [...forms.values()].map(({ call: each }) => each)
    const step = Math.floor((sequence - 1) / period)
    return { step, payload: payloadOf(call, widths), period }
  }
  return undefined
}

/** Rows change with the requests of a batch, the width does not. */
const narrow = (shape: readonly number[]): string =>
  shape.length === 2 && shape[0] !== 2 ? `*,${shape[1]}` : shape.length === 2 ? '2,*' : `${shape}`

function payloadOf(call: Call, all: readonly Call[]): string {
  const shape = call.shape ?? []
  if (shape.length === 1 && shape[0] <= 3) return 'header'
  if (/int32|^int$/i.test(call.dtype) && shape[0] === 2) return 'counts'
  const width = shape.at(-1) ?? 0
  const wider = all.some(
    ({ dtype, shape: other }) =>
      dtype === call.dtype && other?.length === 2 && other[1] === width + 1,
  )
  return wider ? 'drafts' : 'sampled'
}
