// The public face of spec/. Listed by hand, so that nothing becomes public by accident.

export type { Batch } from './batch.ts'
export { fullBatch } from './batch.ts'
export { createEngineMachine, type EngineEvent } from './engine-machine.ts'
export {
  assert,
  type ErrorCode,
  errorCodes,
  fail,
  InternalError,
  PpcheckError,
} from './error.ts'
export { defineConfig, type GateConfig, type GateEntry } from './gate-config.ts'
export {
  crc32,
  type DigestRow,
  decodeHeader,
  digestRows,
  dtypeBytes,
  encodeHeader,
  type Header,
  type HeaderDtype,
  type HeaderField,
  type HeaderFormat,
  hashMask,
  headerFormats,
  headerMismatch,
  type PayloadShape,
  packMask,
  payloadShapes,
  representable,
  sentinels,
  type TokenPayload,
  tokenPayloads,
  unpackMask,
  unrepresentableFields,
} from './header.ts'
export { collidingMask, collisionBasis } from './mask-collisions.ts'
export type * from './operation.ts'
export {
  broadcast,
  checkHeader,
  collective,
  consume,
  describe,
  done,
  freeRows,
  hostWait,
  launch,
  pend,
  poll,
  raise,
  readBuffer,
  receive,
  release,
  rendezvous,
  reply,
  send,
  streamWait,
  when,
} from './operation.ts'
export { defineProtocol, type Protocol, type Role } from './program.ts'
export { type Property, type PropertyId, properties, propertyIds } from './properties.ts'
export { fieldReport } from './protocols/field-report.ts'
export {
  type FieldOverrides,
  fieldScenario,
  ladder,
  type Switches,
  type Variant,
  variantNames,
  variants,
} from './protocols/index.ts'
export { createRankMachine, type RankEvent } from './rank-machine.ts'
export type { RankProgram } from './resolve-program.ts'
export {
  defineScenario,
  type Fault,
  faultKinds,
  type Scenario,
  type ScenarioInput,
  scenarioJsonSchema,
} from './scenario.ts'
export { maxConcurrentBatches, type WindowSettings } from './window.ts'
