// SARIF 2.1.0: rules are ppcheck's properties with ids that never change, the code flow of a result
// is its schedule, and a fingerprint lets a viewer know the same finding again.

import { createHash } from 'node:crypto'
import { type PropertyId, properties, propertyIds } from '../../spec/properties.ts'
import { version } from '../version.ts'
import { checksOf } from './checks.ts'
import type { CheckResult, Reporter } from './report.ts'

export const sarifReporter: Reporter = {
  render: (report) => {
    const checks = checksOf(report, 'sarif').filter(({ outcome }) => outcome === 'failed')
    const log = {
      $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
      version: '2.1.0',
      runs: [
        {
          tool: {
            driver: {
              name: 'ppcheck',
              version: version(),
              rules: [...propertyIds.map(ruleOf), expectationRule],
            },
          },
          results: checks.map(resultOf),
        },
      ],
    }
    return `${JSON.stringify(log, null, 2)}\n`
  },
}

const ruleOf = (id: PropertyId) => ({
  id,
  name: properties[id].name,
  shortDescription: { text: properties[id].says },
  fullDescription: { text: properties[id].why },
})

const expectationRule = {
  id: 'expectation',
  name: 'expectation',
  shortDescription: { text: 'a verdict is not the one that was committed' },
  fullDescription: { text: 'ppcheck.expected.json says something else, or nothing, of a scenario' },
}

function resultOf({ name, message, rule, details, file, steps }: CheckResult) {
  const location = {
    ...(file === undefined ? {} : { physicalLocation: { artifactLocation: { uri: file } } }),
    logicalLocations: [{ name, kind: 'scenario' }],
  }
  return {
    ruleId: rule,
    level: 'error',
    message: { text: `${name}: ${message}\n\n${details}` },
    locations: [location],
    partialFingerprints: { 'ppcheck/v1': fingerprint(`${name}/${rule}`) },
    ...(steps.length === 0
      ? {}
      : {
          codeFlows: [
            {
              threadFlows: [
                {
                  locations: steps.map((text) => ({
                    location: { ...location, message: { text } },
                  })),
                },
              ],
            },
          ],
        }),
  }
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex')
