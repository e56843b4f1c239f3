import type { Static } from 'typebox'
import type { Session, SessionsPage } from '../../schema/http/sessions.ts'
import { readSettings } from '../settings.ts'
import { openClient, type ServiceClient } from './client-request.ts'
import { columnsOf, paintFor } from './paint.ts'
import { renderSessions } from './render-sessions.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma sessions [options]

Lists sessions, newest first.

  --limit <n>      how many at the most (default 50)
  --order <order>  created (default) or updated
  --search <text>  only those with this in their title
  --json           print them as JSON
`

type SessionReply = Static<typeof Session>

export const runSessions = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    {
      limit: { type: 'string' },
      order: { type: 'string' },
      search: { type: 'string' },
      json: { type: 'boolean' },
    },
    usage,
  )
  if (!parsed) return 0
  const { limit: limitText = '50', order, search, json } = parsed.values
  if (parsed.positionals.length > 0) throw new UsageError('takes no arguments', usage)
  if (!/^[1-9]\d{0,8}$/.test(limitText)) {
    throw new UsageError('--limit takes a whole number from 1', usage)
  }
  if (order !== undefined && order !== 'created' && order !== 'updated') {
    throw new UsageError('--order takes created or updated', usage)
  }
  const settings = readSettings()
  const { sessions, more } = await listSessions(openClient(settings), {
    limit: Number(limitText),
    pageLimit: settings.maxPage,
    order,
    search,
  })
  if (json) await writeJson({ data: sessions, more })
  else {
    const options = {
      now: Date.now(),
      columns: columnsOf(process.stdout),
      paint: paintFor(process.stdout),
      more,
      searched: search !== undefined,
    }
    await writeOut(renderSessions(sessions, options))
  }
  return 0
}

/** So many sessions, over as many pages as that takes. */
const listSessions = async (
  client: ServiceClient,
  query: {
    limit: number
    pageLimit: number
    order?: string | undefined
    search?: string | undefined
  },
): Promise<{ sessions: SessionReply[]; more: boolean }> => {
  const { limit, pageLimit, ...filters } = query
  // By last change, one that changes meanwhile comes again: it is shown once, as it is by then.
  const sessions = new Map<string, SessionReply>()
  let cursor: string | undefined
  do {
    const page = (await client.get('/v1/sessions', {
      ...filters,
      limit: Math.min(limit - sessions.size, pageLimit),
      cursor,
    })) as Static<typeof SessionsPage>
    for (const session of page.data) sessions.set(session.sessionId, session)
    cursor = page.cursor.next ?? undefined
  } while (cursor !== undefined && sessions.size < limit)
  return { sessions: [...sessions.values()], more: cursor !== undefined }
}
