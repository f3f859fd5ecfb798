// The published JSON Schema is the one that the zod schema gives today.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultKinds, scenarioJsonSchema } from '../../spec/scenario.ts'

const file = new URL('../../schema/scenario.schema.json', import.meta.url)
const published = JSON.parse(readFileSync(file, 'utf8'))

test('the file is fresh; if not: npm run schema', () => {
  expect(published).toEqual(JSON.parse(JSON.stringify(scenarioJsonSchema())))
})

test('it knows the keys, refuses others, and names the faults', () => {
  expect(published).toMatchObject({ type: 'object', additionalProperties: false })
  expect(published.required).toEqual(['topology'])
  expect(published.properties.faults.items.properties.kind.enum).toEqual([...faultKinds])
})
