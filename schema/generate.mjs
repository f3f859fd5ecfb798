// `npm run schema`: writes the JSON Schema of a scenario's data part. The zod schema in
// spec/scenario.ts is the source; the JSON file is made from it and never edited.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { scenarioJsonSchema } from '../dist/spec/index.js'

const file = fileURLToPath(new URL('scenario.schema.json', import.meta.url))
writeFileSync(file, `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`)
