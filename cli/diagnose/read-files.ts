// Reads the files of a wedge into one body of evidence. What a file is, its content says; its name
// gives no more than a rank. Nothing that is read is ever executed or written to.

import {
  closeSync,
  createReadStream,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import type { Evidence } from '../../sim/diagnosis/evidence.ts'
import { noEvidence } from '../../sim/diagnosis/evidence.ts'
import { flightDump } from '../../sim/diagnosis/flight-recorder.ts'
import { LogFile } from '../../sim/diagnosis/log-file.ts'
import { mergeDump, mergePickle } from '../../sim/diagnosis/merge-dump.ts'
import { readPickle } from '../../sim/diagnosis/pickle.ts'
import { isRasJson, mergeRasJson } from '../../sim/diagnosis/ras.ts'
import { WatchdogFacts } from '../../sim/diagnosis/watchdog.ts'
import { fail, PpcheckError } from '../../spec/error.ts'

/** What became of one file. */
export interface ReadFile {
  readonly file: string
  readonly is: 'pickle' | 'json' | 'ras-json' | 'text' | 'empty' | 'unreadable'
  readonly rank: number | undefined
  /** For what is unreadable: the coded reason. */
  readonly problem?: string
}

export interface Reading {
  readonly evidence: Evidence
  readonly files: readonly ReadFile[]
  /** Every line of a watchdog with all its numbers. */
  readonly watchdog: WatchdogFacts['lines']
}

const filesMax = 20_000
const depthMax = 5
const rankMax = 1_000_000
/** A dump is read as a whole; the largest genuine one that was met had 21 MB. */
const dumpBytesMax = 256 * 1024 * 1024
const chunk = 64 * 1024

/**
 * Reads files and folders. `rankFrom`: a pattern whose first group is the rank, for the whole path.
 * @throws PpcheckError PPC109 for a path that is not there, PPC503 if nothing could be read, or the
 * reader's own code if a single file was given and that is not readable.
 */
export async function readFiles(
  paths: readonly string[],
  { rankFrom, tick }: { readonly rankFrom?: RegExp; readonly tick?: (done: string) => void } = {},
): Promise<Reading> {
  const evidence = noEvidence()
  const watchdog = new WatchdogFacts()
  const files: ReadFile[] = []
  const all = paths.flatMap((path) => filesOf(path, 0))
  for (const file of all) {
    tick?.(`${files.length + 1} of ${all.length} files`)
    files.push(await readOne(evidence, watchdog, file, rankFrom))
  }
  watchdog.finish(evidence)
  const readable = files.filter(({ is }) => is !== 'unreadable' && is !== 'empty')
  if (readable.length === 0) {
    const [first] = files
    if (files.length === 1 && first.problem !== undefined) {
      const code = first.problem.startsWith('PPC504') ? 'PPC504' : 'PPC501'
      fail(code, `${first.file}: ${first.problem.replace(/^PPC\d+ /, '')}`)
    }
    const reason = files.length === 0 ? 'no file is there' : 'no file can be read'
    if (files.every(({ is }) => is !== 'empty')) {
      fail(
        'PPC503',
        `nothing to diagnose in ${paths.join(' ')}: ${reason}`,
        'see docs/wedge-runbook.md',
      )
    }
  }
  return { evidence, files, watchdog: watchdog.lines }
}

function filesOf(path: string, depth: number): string[] {
  let status: ReturnType<typeof statSync>
  try {
    status = statSync(path)
  } catch {
    fail('PPC109', `cannot read ${path}: it is not there`)
  }
  if (!status.isDirectory()) return [path]
  if (depth >= depthMax) return []
  const names = readdirSync(path).sort((a, b) => numeric(a) - numeric(b) || (a < b ? -1 : 1))
  const found = names.flatMap((name) => filesOf(join(path, name), depth + 1))
  if (found.length > filesMax) fail('PPC503', `${path} has more than ${filesMax} files`)
  return found
}

const numeric = (name: string): number => Number(/(\d+)\D*$/.exec(name)?.[1] ?? 0)

const extension = /\.(gz|json|log|txt|out|err|pickle|pkl|dump)$/i

/**
 * The rank that a name ends with. A log's name must say so clearly: `pytorch_152623.log` is not
 * the log of rank 152623.
 */
export function rankOfName(path: string, text: boolean): number | undefined {
  let name = basename(path)
  while (extension.test(name)) name = name.replace(extension, '')
  const match = text ? /(?:rank|[_.-])(\d{1,4})$/i.exec(name) : /(\d+)$/.exec(name)
  if (match === null) return undefined
  const rank = Number(match[1])
  return rank <= rankMax ? rank : undefined
}

const rankOf = (path: string, text: boolean, pattern: RegExp | undefined): number | undefined => {
  if (pattern === undefined) return rankOfName(path, text)
  const found = pattern.exec(path)?.[1]
  return found !== undefined && /^\d{1,6}$/.test(found) ? Number(found) : undefined
}

async function readOne(
  evidence: Evidence,
  watchdog: WatchdogFacts,
  file: string,
  rankFrom: RegExp | undefined,
): Promise<ReadFile> {
  const status = statSync(file)
  if (!status.isFile())
    return { file, is: 'unreadable', rank: undefined, problem: 'no regular file' }
  if (status.size === 0) {
    const rank = rankOf(file, false, rankFrom)
    if (rank !== undefined && !/\.(log|txt|out|err)(\.gz)?$/i.test(file)) {
      evidence.broken.set(rank, 'is empty')
      evidence.ranks.add(rank)
    }
    return { file, is: 'empty', rank }
  }
  try {
    const head = headOf(file)
    const gzipped = head[0] === 0x1f && head[1] === 0x8b
    const inner = gzipped ? await gunzippedHead(file) : head
    const first = String.fromCharCode(...inner.subarray(0, 256)).trimStart()[0]
    if (inner[0] === 0x80 && inner[1] <= 5) {
      return readDump(evidence, file, whole(file, status.size, gzipped), rankFrom)
    }
    if (first === '{' || first === '[') {
      const read =
        status.size <= dumpBytesMax ? readJson(evidence, file, gzipped, rankFrom) : undefined
      if (read !== undefined) return read
    }
    if (inner.includes(0)) fail('PPC502', 'it is binary, and no pickle of a flight recorder')
    const rank = rankOf(file, true, rankFrom)
    await readText(new LogFile(evidence, watchdog, basename(file), rank), file, gzipped)
    return { file, is: 'text', rank }
  } catch (error) {
    const rank = rankOf(file, false, rankFrom)
    const problem =
      error instanceof PpcheckError
        ? `${error.code} ${error.message}`
        : `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'damaged'}`
    if (rank !== undefined) evidence.broken.set(rank, 'cannot be read')
    return { file, is: 'unreadable', rank, problem }
  }
}

function headOf(file: string): Uint8Array {
  const descriptor = openSync(file, 'r')
  try {
    const bytes = new Uint8Array(chunk)
    return bytes.subarray(0, readSync(descriptor, bytes, 0, chunk, 0))
  } finally {
    closeSync(descriptor)
  }
}

/** The first bytes of what a gzipped file holds. */
async function gunzippedHead(file: string): Promise<Uint8Array> {
  const source = createReadStream(file)
  const stream = source.pipe(createGunzip())
  source.on('error', (error) => stream.destroy(error))
  try {
    for await (const piece of stream) return (piece as Uint8Array).subarray(0, chunk)
    return new Uint8Array(0)
  } finally {
    source.destroy()
  }
}

function whole(file: string, size: number, gzipped: boolean): Uint8Array {
  if (size > dumpBytesMax) fail('PPC501', `it has more than ${dumpBytesMax >> 20} MB`)
  const bytes = readFileSync(file)
  return gzipped ? gunzipSync(bytes, { maxOutputLength: dumpBytesMax }) : bytes
}

function readDump(
  evidence: Evidence,
  file: string,
  bytes: Uint8Array,
  rankFrom: RegExp | undefined,
): ReadFile {
  const rank = rankOf(file, false, rankFrom)
  const read = readPickle(bytes)
  if (rank === undefined) {
    fail(
      'PPC504',
      'its name does not end with a rank (--rank-from "rank(\\d+)" reads it elsewhere)',
    )
  }
  mergePickle(evidence, read, rank, basename(file))
  return { file, is: 'pickle', rank }
}

function readJson(
  evidence: Evidence,
  file: string,
  gzipped: boolean,
  rankFrom: RegExp | undefined,
): ReadFile | undefined {
  const text = Buffer.from(whole(file, statSync(file).size, gzipped)).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A log may begin with a bracket as well.
    return undefined
  }
  if (isRasJson(value)) {
    mergeRasJson(evidence, value, basename(file))
    return { file, is: 'ras-json', rank: undefined }
  }
  const rank = rankOf(file, false, rankFrom)
  const dump = flightDump(value)
  if (rank === undefined) fail('PPC504', 'its name does not end with a rank (--rank-from)')
  mergeDump(evidence, dump, { rank, file: basename(file), whole: true })
  return { file, is: 'json', rank }
}

async function readText(log: LogFile, file: string, gzipped: boolean): Promise<void> {
  const source = createReadStream(file, { highWaterMark: 256 * 1024 })
  const stream: Readable = gzipped ? source.pipe(createGunzip()) : source
  source.on('error', (error) => stream.destroy(error))
  await eachLine(stream, (line) => log.line(line))
  log.finish()
}

/** Lines without holding more than one of them; an endless line is cut into pieces. */
async function eachLine(stream: Readable, use: (line: string) => void): Promise<void> {
  let rest = ''
  stream.setEncoding('utf8')
  for await (const piece of stream) {
    rest += piece
    let from = 0
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', from)) {
      use(rest.slice(from, rest[end - 1] === '\r' ? end - 1 : end))
      from = end + 1
    }
    rest = rest.slice(from)
    if (rest.length > 4 * chunk) {
      use(rest)
      rest = ''
    }
  }
  if (rest !== '') use(rest)
}
