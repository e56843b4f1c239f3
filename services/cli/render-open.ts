import type { LiveParts } from '../live/live-parts.ts'
import { plain } from './paint.ts'
import { indent } from './render-text.ts'
import { renderMessages, type TranscriptView } from './render-transcript.ts'
import type { MessageReply } from './settled.ts'
import { visible } from './visible.ts'

/** What is not complete: messages as far as they have come, and what their parts are saying. */
export const renderOpen = (
  messages: readonly MessageReply[],
  parts: LiveParts,
  view: TranscriptView,
): string => {
  // Rows of a preview are cut to the terminal's width, which colours would be cut with.
  const bare: TranscriptView = { ...view, paint: plain, full: true }
  const { notes: _, ...rest } = bare
  const printed = { turnId: messages[0]?.turnId, seq: 0 }
  const known = renderMessages(messages, rest, printed)
    .text.trim()
    // Of parts that have only begun.
    .replaceAll(/\n\s*\n/g, '\n')
  const said = [...parts.values()].flatMap(({ kind, text }) =>
    text ? [indent(`${prefixes[kind]}${visible(text)}`)] : [],
  )
  const begun = said.length > 0 ? known.replace(/\n {2}running$/, '') : known
  return [...(begun === '' ? [] : [begun]), ...said].join('\n')
}

const prefixes = { text: '', reasoning: 'thinks: ', 'tool-input': '→ ', 'tool-progress': '' }
