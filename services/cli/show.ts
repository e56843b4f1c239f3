import type { Static } from 'typebox'
import type { SessionReply } from '../../schema/http/sessions.ts'
import { readSettings } from '../settings.ts'
import { openClient } from './client-request.ts'
import { followTranscript } from './follow-transcript.ts'
import { columnsOf, paintFor } from './paint.ts'
import { readPages, type Page } from './read-transcript.ts'
import { readNotes } from './read-notes.ts'
import { renderOpenWork, type OpenWork } from './render-open-work.ts'
import {
  renderHead,
  renderMessages,
  type Printed,
  type TranscriptView,
} from './render-transcript.ts'
import { noNotes } from './transcript-notes.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma show <sessionId> [options]

Prints the transcript of a session, with its turns, and what is open at its end.

  --follow   go on with each message when it is complete, until Ctrl-C; a terminal shows what is
             being said, too
  --full     whole outputs and thoughts, not their first lines
  --json     print the session and its messages as JSON; with --follow each message on a line
`

export const runShow = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    { follow: { type: 'boolean' }, full: { type: 'boolean' }, json: { type: 'boolean' } },
    usage,
  )
  if (!parsed) return 0
  const [sessionId, ...others] = parsed.positionals
  if (sessionId === undefined || others.length > 0) {
    throw new UsageError('takes one session id; "stemma sessions" lists them', usage)
  }
  const { follow = false, full = false, json = false } = parsed.values
  const settings = readSettings()
  const client = openClient(settings)
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}`
  const { data: session } = (await client.get(path)) as Static<typeof SessionReply>
  const limit = Math.min(200, settings.maxPage)
  const notes = noNotes()
  const view: TranscriptView = {
    notes,
    sessionId,
    full,
    columns: columnsOf(process.stdout),
    paint: paintFor(process.stdout),
    now: Date.now(),
  }
  if (follow) return followTranscript({ client, path, session, limit, view, json })
  const pages = readPages(client, path, { limit, order: 'asc' })
  if (json) {
    const messages: Page['data'] = []
    for await (const page of pages) messages.push(...page.data)
    await writeJson({ session, messages })
    return 0
  }
  await writeOut(renderHead(session, view))
  let printed: Printed = { seq: 0 }
  let stalled: Page['stalled']
  const names = new Map<string, string>()
  const from = { client, path, limit: settings.maxPage }
  for await (const page of pages) {
    await readNotes(notes, page.asOfSeq, from)
    const throughSeq = page.cursor.next === null ? page.asOfSeq : 0
    const rendered = renderMessages(page.data, view, printed, throughSeq)
    printed = rendered.printed
    stalled = page.stalled
    for (const { messageId, parts = [] } of page.data) {
      for (const { type, partId, name, status } of parts) {
        if (type === 'tool' && status !== 'settled' && name !== undefined) {
          names.set(`${messageId}/${partId}`, name)
        }
      }
    }
    await writeOut(rendered.text)
  }
  if (stalled) {
    await writeOut(`the transcript stands still since seq ${stalled.seq} (${stalled.code})\n`)
  }
  const { data } = (await client.post('/v1/sync', {
    sessions: [{ sessionId, afterSeq: session.headSeq }],
  })) as { data: [OpenWork | { error: unknown }] }
  if (!('error' in data[0])) await writeOut(renderOpenWork(data[0], names, view))
  return 0
}
