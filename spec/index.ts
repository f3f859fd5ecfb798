// The public face of spec/. Listed by hand, so that nothing becomes public by accident.

export {
  assert,
  type ErrorCode,
  errorCodes,
  fail,
  InternalError,
  PpcheckError,
} from './error.ts'
export {
  collidingMask,
  crc32,
  decodeHeader,
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
export { maxConcurrentBatches, type WindowSettings } from './window.ts'
