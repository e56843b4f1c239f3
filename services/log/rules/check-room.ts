import { Refusal } from '../../../schema/errors.ts'
import type { Command } from '../command.ts'
import type { SessionState } from '../session-state.ts'

/**
 * How large what is open may become, in characters of the state's JSON, by what makes it so. The
 * state is read and written with every append: at 8 KB half a server's speed is gone. Inputs leave
 * room for the turn that takes them up, and whatever only takes over, closes or ends is never refused.
 */
const room: Partial<Record<Command['kind'], number>> = { admit: 4_096, append: 8_192 }

/** So few things are never too large. */
const few = 8

/** Throws Refusal `too_much_open` if a command makes more open than a session may hold. */
export const checkRoom = (
  kind: Command['kind'],
  before: SessionState,
  after: SessionState,
): void => {
  const most = room[kind]
  if (most === undefined || after === before || countOpen(after) <= few) return
  const size = JSON.stringify(after).length
  if (size <= most || size <= JSON.stringify(before).length) return
  throw new Refusal('too_much_open', `what is open would take ${size} characters, of ${most}`)
}

const countOpen = (state: SessionState): number =>
  [
    state.step?.calls,
    state.step?.parts,
    state.requests,
    state.inputs,
    state.answers,
    state.compactions,
    state.shells,
    state.epochs,
  ].reduce((count, open) => count + (open ? Object.keys(open).length : 0), 0)
