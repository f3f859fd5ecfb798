// How the tests run. Tests import the TypeScript sources; only tests of the command line use dist/.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Two workers fit the small machines this is checked on; exploration tests are CPU-bound.
    maxWorkers: 2,
    testTimeout: 120_000,
  },
})
