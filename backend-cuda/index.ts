// The public face of backend-cuda/. Listed by hand, so that nothing becomes public by accident.

export { type Host, type Probe, type ProbeName, probeAll, thisHost } from './probe.ts'
