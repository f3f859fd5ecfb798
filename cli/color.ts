// Whether stdout gets colour. Chalk looks at FORCE_COLOR and the terminal but not at NO_COLOR, so
// that is done here.

import chalk, { Chalk, type ChalkInstance } from 'chalk'

/** A chalk that obeys, in this order: --no-color, NO_COLOR, FORCE_COLOR, the terminal. */
export const paintFor = (
  color: boolean,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ChalkInstance => {
  // no-color.org: present and not empty, whatever the value.
  const refused = !color || (environment['NO_COLOR'] ?? '') !== ''
  return refused ? new Chalk({ level: 0 }) : chalk
}
