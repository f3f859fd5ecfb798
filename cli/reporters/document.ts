// Markdown and HTML. A command may write its own document; for all others the text is framed, so
// that the names work everywhere.

import { Chalk } from 'chalk'
import type { Reporter } from './report.ts'

const plain = new Chalk({ level: 0 })

export const markdownReporter: Reporter = {
  render: (report) => `${report.markdown?.() ?? `~~~text\n${report.text(plain)}\n~~~`}\n`,
}

export const htmlReporter: Reporter = {
  render: (report) => `${report.html?.() ?? framed(report.text(plain))}\n`,
}

const framed = (text: string): string =>
  [
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>ppcheck</title>',
    `<pre>${escapeHtml(text)}</pre></html>`,
  ].join('\n')

/** Text from anywhere, safe between tags. */
export const escapeHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
