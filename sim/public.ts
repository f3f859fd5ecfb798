// What `import … from 'ppcheck'` gives: everything that a protocol file and a script around the
// checker need.

export * from '../spec/index.ts'
export * from './index.ts'
