// Progress on stderr: a live line on a terminal, redrawn at most ten times a second; otherwise a
// line every five seconds. Must never write to stdout, and must cost next to nothing when called
// often.

export interface Progress {
  /** Offers a new line. The function is called only if the line is really drawn. */
  update(line: () => string): void
  /** A line that stays, for what belongs neither in the report nor among its bytes: times. */
  note(line: string): void
  /** Removes the live line, so that what follows starts on a clean one. */
  done(): void
}

export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const liveIntervalMs = 100
const lineIntervalMs = 5000

const silent: Progress = { update: () => {}, note: () => {}, done: () => {} }

/** `nowMs` is injected so that tests need not wait. */
export const createProgress = ({
  quiet,
  stream = process.stderr,
  nowMs = () => performance.now(),
}: {
  readonly quiet: boolean
  readonly stream?: ProgressStream
  readonly nowMs?: () => number
}): Progress => {
  if (quiet) return silent
  return stream.isTTY === true ? liveLine(stream, nowMs) : plainLines(stream, nowMs)
}

function liveLine(stream: ProgressStream, nowMs: () => number): Progress {
  let drawnAt = Number.NEGATIVE_INFINITY
  let visible = false
  return {
    update: (line) => {
      const now = nowMs()
      if (now - drawnAt < liveIntervalMs) return
      drawnAt = now
      visible = true
      // One column stays free: a full line would wrap on some terminals and leave rubbish behind.
      const text = line().replaceAll('\n', ' ')
      stream.write(`\r\u001b[2K${text.slice(0, (stream.columns ?? 80) - 1)}`)
    },
    note: (line) => {
      stream.write(`${visible ? '\r\u001b[2K' : ''}${line}\n`)
      visible = false
    },
    done: () => {
      if (visible) stream.write('\r\u001b[2K')
      visible = false
      drawnAt = Number.NEGATIVE_INFINITY
    },
  }
}

function plainLines(stream: ProgressStream, nowMs: () => number): Progress {
  // Nothing in the first five seconds: short runs in a log stay short.
  let writtenAt = nowMs()
  return {
    update: (line) => {
      const now = nowMs()
      if (now - writtenAt < lineIntervalMs) return
      writtenAt = now
      stream.write(`${line().replaceAll('\n', ' ')}\n`)
    },
    note: (line) => void stream.write(`${line}\n`),
    done: () => {},
  }
}
