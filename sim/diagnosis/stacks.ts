// Stacks of faulthandler and py-spy: what the main thread of a rank is in, innermost first.

/** Follows the lines of one file; `threads` are complete after `finish`. */
export class StackText {
  readonly threads: { readonly main: boolean; readonly functions: string[] }[] = []
  private current: { readonly main: boolean; readonly functions: string[] } | undefined

  line(text: string): void {
    const head = /^(Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):\s*$/.exec(text)
    const spy = /^Thread (?:0x)?[0-9A-Fa-f]+ \((?:idle|active)[^)]*\)(?:: "([^"]*)")?/.exec(text)
    if (head !== null || spy !== null) {
      const main = head?.[1] === 'Current thread' || spy?.[1] === 'MainThread'
      this.current = { main, functions: [] }
      this.threads.push(this.current)
      return
    }
    const { current } = this
    if (current === undefined) return
    const frame =
      /^\s+File ".*", line \d+ in (\S.*)$/.exec(text) ?? /^\s{4,}(\S.*?) \([^()]+\)\s*$/.exec(text)
    if (frame !== null) {
      if (current.functions.length < 200) current.functions.push(frame[1])
    } else if (!/^\s+\S/.test(text)) this.current = undefined
  }

  /** The main thread's functions; a file without one has its last thread. */
  mainFunctions(): readonly string[] | undefined {
    const mains = this.threads.filter(({ main }) => main)
    return (mains.at(-1) ?? this.threads.at(-1))?.functions
  }
}
