import type { Static } from 'typebox'
import { foreignType, isKnownType } from '../../schema/events/event-table.ts'
import type { SessionReply } from '../../schema/http/sessions.ts'
import { readSettings } from '../settings.ts'
import { openClient, type ServiceClient } from './client-request.ts'
import { follow, type Followed, type Following } from './follow.ts'
import { openLine } from './outage.ts'
import { columnsOf, paintFor } from './paint.ts'
import { renderEvent, renderLive, type EventView } from './render-event.ts'
import { untilInterrupted } from './until-interrupted.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { visibleLine } from './visible.ts'
import { escapeJson, writeOut } from './write-out.ts'

const usage = `stemma tail <sessionId> [options]
stemma tail --all [options]

Prints the last ten events of a session, or of all, and then each that is appended, until Ctrl-C.
A service that is lost is waited for, and nothing is missed or printed twice.

  --after <seq>   begin after this seq; 0 prints all (with --all: 0, or a cursor of /v1/events)
  --all           the events of all sessions
  --types <a,b>   only events of these types
  --live          also what parts are saying while they say it
  --json          each event as it is, one JSON on a line
`

const lastEvents = 10

export const runTail = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    {
      after: { type: 'string' },
      all: { type: 'boolean' },
      types: { type: 'string' },
      live: { type: 'boolean' },
      json: { type: 'boolean' },
    },
    usage,
  )
  if (!parsed) return 0
  const { positionals, values } = parsed
  const { after, all = false, live = false, json = false } = values
  const types = values.types === undefined ? undefined : typesOf(values.types)
  const [sessionId] = positionals
  if (positionals.length !== (all ? 0 : 1)) {
    throw new UsageError('takes one session id, or --all', usage)
  }
  if (all && live) throw new UsageError('--live is of one session', usage)
  if (!all && after !== undefined && !/^(0|[1-9]\d{0,14})$/.test(after)) {
    throw new UsageError('--after takes a seq', usage)
  }
  const client = openClient(readSettings())
  const view: EventView = {
    columns: columnsOf(process.stdout),
    paint: paintFor(process.stdout),
    withSession: all,
  }
  const following: Following = all
    ? { path: '/v1/events', from: after === undefined || after === '0' ? {} : { after }, types }
    : await ofSession(client, sessionId!, after, types)
  const print = (followed: Followed): string => {
    switch (followed.kind) {
      case 'event':
        return json ? `${escapeJson(followed.text)}\n` : renderEvent(followed.envelope, view)
      case 'live':
        if (!live) return ''
        return json ? `{"live":${escapeJson(followed.text)}}\n` : renderLive(followed.frame, view)
      default:
        return ''
    }
  }
  /** What waits for the end of history: the last of it, where its beginning is not known. */
  let held: string[] | undefined = after === undefined ? [] : undefined
  return untilInterrupted(async (signal) => {
    for await (const followed of follow(client, following, openLine(say), signal)) {
      if (followed.kind === 'event' && types && !types.includes(followed.envelope.type)) continue
      if (held && followed.kind === 'event') held = [...held, print(followed)].slice(-lastEvents)
      else {
        await writeOut([...(held ?? []), print(followed)].join(''))
        held = undefined
      }
      if (followed.kind === 'reset') return sayReset(followed)
      if (followed.kind === 'ended') say(`the session is ${followed.reason}; nothing follows`)
    }
    return 0
  })
}

/** The beginning of a session's last events is known from its head, unless only some are shown. */
const ofSession = async (
  client: ServiceClient,
  sessionId: string,
  after: string | undefined,
  types: readonly string[] | undefined,
): Promise<Following> => {
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}`
  const begin = async (): Promise<number> => {
    const { data } = (await client.get(path)) as Static<typeof SessionReply>
    return types ? 0 : Math.max(0, data.headSeq - lastEvents)
  }
  return {
    path: `${path}/events`,
    from: { afterSeq: after === undefined ? await begin() : Number(after) },
  }
}

const typesOf = (text: string): readonly string[] => {
  const types = [...new Set(text.split(',').map((type) => type.trim()))].filter(Boolean)
  const unknown = types.find((type) => !isKnownType(type) && !foreignType.test(type))
  if (unknown === undefined && types.length > 0) return types
  throw new UsageError(`there are no events of type ${visibleLine(unknown ?? '""')}`, usage)
}

const sayReset = ({ reason }: { readonly reason: string }): number => {
  say(
    reason === 'ahead'
      ? 'the log does not reach so far as this begins'
      : 'the service has another log now than the one that was followed',
  )
  return 1
}

const say = (text: string): void => void process.stderr.write(`stemma tail: ${text}\n`)
