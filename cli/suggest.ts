// "Did you mean ...": the nearest known word to a mistyped one. Must stay silent when nothing is
// near, because a wrong suggestion is worse than none.

import { type ErrorCode, fail } from '../spec/error.ts'

/** The nearest candidate, or undefined when all differ in more than a third of their letters. */
export const nearest = (word: string, candidates: readonly string[]): string | undefined => {
  let best: string | undefined
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    const tolerable = Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3))
    if (distance <= tolerable && distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `did you mean "capped"?`, or the whole list when nothing is near. */
export const suggestion = (word: string, candidates: readonly string[]): string => {
  const near = nearest(word, candidates)
  return near === undefined ? `known: ${candidates.join(', ')}` : `did you mean ${near}?`
}

/**
 * Fails because a name is not known. `kind` is the noun that the message starts with; `where` is
 * what the user typed it after, for example `--variant`.
 */
export function failUnknown(
  kind: string,
  word: string,
  candidates: readonly string[],
  { code = 'PPC110', where }: { readonly code?: ErrorCode; readonly where?: string } = {},
): never {
  const place = where === undefined ? '' : ` (${where})`
  fail(code, `unknown ${kind} "${word}"${place}`, suggestion(word, candidates))
}

/** Damerau-Levenshtein distance with adjacent transpositions ("expolre" is one step away). */
function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= left.length; i++) {
    rows.push([i])
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1]
      let cost = Math.min(
        rows[i - 1][j] + 1,
        rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + (same ? 0 : 1),
      )
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      if (swapped) cost = Math.min(cost, rows[i - 2][j - 2] + 1)
      rows[i].push(cost)
    }
  }
  return rows[left.length][right.length]
}
