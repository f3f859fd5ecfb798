// One text file, line by line, in constant memory: watchdog, desync, RAS, stacks, Gloo's errors and
// vLLM's own lines. A file may hold several of them at once, as real logs do.

import type { Evidence, Source } from './evidence.ts'
import { RasText } from './ras.ts'
import { StackText } from './stacks.ts'
import type { WatchdogFacts } from './watchdog.ts'
import { isWatchdog, watchdogLine } from './watchdog.ts'

/** Parts that one logical line may have been wrapped into. */
const partsMax = 12
const lineMax = 16_384
const notesMax = 200

const escapeByte = String.fromCharCode(27)
const colour = new RegExp(`${escapeByte}\\[[0-9;]*[A-Za-z]`, 'g')

/** What may stand before a line's own text: Ray, vLLM's workers, srun, collectors, a bar. */
const prefix =
  /^(?:\s*(?:\([A-Za-z][\w. ]*(?:pid|ip)=[^)]*\)|\d+:(?=\s)|\|(?=\s)|\[\d+\](?=\s)))+\s*/

/** vLLM and process lines that are worth showing, and what they are signs of. */
const notable = new RegExp(
  [
    'No available (?:shared memory broadcast )?block found',
    'RPC call to \\w+ timed out',
    'EngineDeadError',
    'died unexpectedly',
    'Parent process exited',
    'Heartbeat monitor timed out',
    'watchdog got stuck',
    'timed out in blocking wait',
    'Observed flight recorder dump signal',
    'First PG on this rank',
    'output_handler failed',
  ].join('|'),
)

/** A log may hold anything, and its lines are shown on a terminal. */
const printable = (text: string): string =>
  [...text].filter((each) => each >= ' ' && each !== String.fromCharCode(127)).join('')

export class LogFile {
  private readonly evidence: Evidence
  private readonly watchdog: WatchdogFacts
  private readonly file: string
  private readonly rank: number | undefined
  private readonly ras: RasText
  private readonly stack = new StackText()
  private pending: string[] = []
  private pendingSource: Source = { file: '', record: '' }
  private fatal = false
  private number = 0

  /** `rank`: from the file's name, for lines and stacks that name none. */
  constructor(evidence: Evidence, watchdog: WatchdogFacts, file: string, rank: number | undefined) {
    this.evidence = evidence
    this.watchdog = watchdog
    this.file = file
    this.rank = rank
    this.ras = new RasText(evidence)
  }

  line(raw: string): void {
    this.number++
    const cut = raw.length > lineMax ? raw.slice(0, lineMax) : raw
    const text = cut.includes(escapeByte) ? cut.replace(colour, '') : cut
    const source = { file: this.file, record: `line ${this.number}` }
    this.watch(text, source)
    if (text.length < 400) {
      this.ras.line(text, source)
      this.stack.line(text)
    }
    if (notable.test(text)) this.note(text, source)
    this.gloo(text, source)
  }

  private watch(text: string, source: Source): void {
    if (this.pending.length > 0 && !/\[rank\d+\]:|\[E Process|\[PG ID \d+ PG GUID/.test(text)) {
      this.pending.push(text.replace(prefix, ''))
      const line = watchdogLine(this.pending.join(''))
      if (line !== undefined) {
        this.emit(line, this.pending.join(''))
        this.pending = []
        return
      }
      if (this.pending.length < partsMax) return
    }
    this.pending = []
    if (!isWatchdog(text)) return
    const line = watchdogLine(text)
    this.pendingSource = source
    if (line === undefined) this.pending = [text.replace(prefix, '')]
    else this.emit(line, text)
  }

  private emit(line: NonNullable<ReturnType<typeof watchdogLine>>, text: string): void {
    this.watchdog.add(line, this.pendingSource, this.rank)
    if (/watchdog thread terminated/.test(text)) this.note(text, this.pendingSource)
  }

  private note(text: string, source: Source): void {
    const { evidence } = this
    evidence.facts++
    if (evidence.notes.length < notesMax) {
      evidence.notes.push({ text: printable(text).trim().slice(0, 200), source })
    }
    const died = /Worker proc \S*?(\d+) died unexpectedly/.exec(text)
    if (died !== null) {
      const rank = Number(died[1])
      evidence.ranks.add(rank)
      evidence.signs.push({ rank, sign: 'dead', says: 'its worker process died', source })
    }
  }

  /** Gloo aborts on a payload longer than its buffer; its peers then see closed connections. */
  private gloo(text: string, source: Source): void {
    const { evidence, rank } = this
    if (rank === undefined) return
    const size = /\b(?:enforce fail|EnforceNotMet)\b.*?(\d+) vs\.? (\d+)/.exec(text)
    if (size !== null) {
      const says = `aborted on a payload of ${size[1]} bytes, its buffer has ${size[2]}`
      evidence.facts++
      evidence.ranks.add(rank)
      evidence.signs.push({ rank, sign: 'aborted-on-size', says, source })
    }
    if (/^Fatal Python error: /.test(text)) this.fatal = true
    if (/Connection (?:closed by|reset by) peer/.test(text)) {
      evidence.facts++
      evidence.ranks.add(rank)
      const says = 'a peer closed its connection'
      evidence.signs.push({ rank, sign: 'closed-by-peer', says, source })
    }
  }

  /** Ends the file: what was open is complete. */
  finish(): void {
    const { evidence, rank, file } = this
    this.ras.finish()
    const functions = this.stack.mainFunctions()
    const source = { file, record: `${this.stack.threads.length} threads` }
    if (functions !== undefined) {
      evidence.facts++
      if (rank !== undefined && !this.fatal) evidence.stacks.set(rank, { rank, functions, source })
    }
    const aborted = evidence.signs.some((sign) => sign.rank === rank)
    if (this.fatal && rank !== undefined && !aborted) {
      evidence.ranks.add(rank)
      evidence.signs.push({ rank, sign: 'dead', says: 'died of a fatal Python error', source })
    }
  }
}
