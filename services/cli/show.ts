import type { Static } from 'typebox'
import type { SessionReply } from '../../schema/http/sessions.ts'
import { readSettings } from '../settings.ts'
import { openClient } from './client-request.ts'
import { followTranscript } from './follow-transcript.ts'
import { columnsOf, paintFor } from './paint.ts'
import { readPages, type Page } from './read-transcript.ts'
import { renderHead, renderMessages, type TranscriptView } from './render-transcript.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma show <sessionId> [options]

Prints the transcript of a session.

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
  const view: TranscriptView = {
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
  let turnId: string | undefined
  let stalled: Page['stalled']
  for await (const page of pages) {
    const rendered = renderMessages(page.data, view, turnId)
    turnId = rendered.turnId
    stalled = page.stalled
    await writeOut(rendered.text)
  }
  if (stalled) {
    await writeOut(`the transcript stands still since seq ${stalled.seq} (${stalled.code})\n`)
  }
  return 0
}
