// The visited set is a set: it is compared with one that cannot be wrong.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryMin, VisitedStates } from '../../sim/search/visited.ts'

const word = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 200_000 }))

test('adding, finding and reading agree with a Map, also beyond 16 bits', () => {
  const states = fc.array(fc.tuple(word, word, word), { maxLength: 400 })
  fc.assert(
    fc.property(states, (list) => {
      const visited = new VisitedStates(3, memoryMin)
      const model = new Map<string, number>()
      const out = new Int32Array(3)
      for (const words of list) {
        const state = Int32Array.from(words)
        const key = String(words)
        const known = model.get(key)
        expect(visited.find(state, 0)).toBe(known ?? -1)
        const added = visited.add(state, 0, -1)
        expect(added).toBe(known === undefined ? model.size : -1 - known)
        if (known === undefined) model.set(key, model.size)
      }
      expect(visited.count).toBe(model.size)
      for (const [key, number] of model) {
        visited.read(number, out)
        expect(String([...out])).toBe(key)
      }
    }),
    { seed: 3, numRuns: 200 },
  )
})

test('a hundred thousand states survive every growth of the store', () => {
  const visited = new VisitedStates(2, 2 ** 24)
  const state = new Int32Array(2)
  for (let i = 0; i < 100_000; i++) {
    state[0] = i
    state[1] = i * 7
    expect(visited.add(state, 0, i - 1) === i).toBe(true)
  }
  state[0] = 99_999
  state[1] = 99_999 * 7
  expect(visited.find(state, 0)).toBe(99_999)
  expect(visited.parents[99_999]).toBe(99_998)
  expect(visited.bytes / visited.count).toBeLessThan(45)
})

test('what was saved is restored', () => {
  const visited = new VisitedStates(2, 2 ** 22)
  for (let i = 0; i < 5000; i++) visited.add(Int32Array.of(i, i % 17), 0, i - 1)
  const { words, wide, parents } = visited.save()
  const again = new VisitedStates(2, 2 ** 22)
  again.restore(visited.count, wide, words.slice(), parents.slice())
  expect(again.count).toBe(5000)
  expect(again.find(Int32Array.of(4711, 4711 % 17), 0)).toBe(4711)
  expect(again.add(Int32Array.of(4711, 4711 % 17), 0, 0)).toBe(-4712)
  expect(again.add(Int32Array.of(5000, 3), 0, 0)).toBe(5000)
})

test('a budget below the minimum is refused', () => {
  expect(() => new VisitedStates(2, 10)).toThrow(expect.objectContaining({ code: 'PPC101' }))
})
