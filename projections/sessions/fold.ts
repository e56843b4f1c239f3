import type { EventType } from '../../schema/events/event-table.ts'
import type { StoredEvent } from '../../schema/events/envelope.ts'
import { noUsage, type SessionInfo, type Usage } from './session-info.ts'

/** Types whose content the fold needs; of all others it takes the time. */
export const sessionInfoTypes = [
  'session.created',
  'session.forked',
  'session.renamed',
  'session.metadata.updated',
  'session.moved',
  'session.archived',
  'session.unarchived',
  'session.viewed',
  'session.deleted',
  'session.restored',
  'agent.selected',
  'model.selected',
  'step.started',
  'step.streamed',
  'step.retried',
  'step.ended',
  'step.failed',
  'compaction.ended',
  'usage.recorded',
] as const satisfies readonly EventType[]

/** The session's info after one more event; the first event brings it into being. */
export const foldSessionInfo = (
  before: SessionInfo | undefined,
  event: StoredEvent,
): SessionInfo => {
  const info: SessionInfo = {
    ...(before ?? { createdAt: event.occurredAt, usage: noUsage, updatedAt: event.occurredAt }),
    // When it happened: what was imported today is as old as it is.
    updatedAt: event.occurredAt,
  }
  switch (event.type) {
    case 'session.created': {
      const { title, agent, model, location, project, parent, metadata, origin } = event.data
      return without({ ...info, title, agent, model, location, project, parent, metadata, origin })
    }
    case 'session.forked':
      return { ...info, forkedFrom: { sessionId: event.data.from, asOfSeq: event.data.asOfSeq } }
    case 'session.renamed':
      return { ...info, title: event.data.title }
    case 'session.metadata.updated': {
      const metadata = Object.fromEntries(
        Object.entries({ ...info.metadata, ...event.data.set }).filter(
          ([key]) => !event.data.unset?.includes(key),
        ),
      )
      return { ...info, metadata }
    }
    case 'session.moved':
      return { ...info, location: event.data.location }
    case 'session.viewed':
      return { ...info, viewedAt: event.occurredAt }
    case 'session.archived':
      return { ...info, archived: true }
    case 'session.unarchived':
      return without<SessionInfo>({ ...info, archived: undefined })
    case 'session.deleted':
      return { ...info, deleted: true }
    case 'session.restored':
      return without<SessionInfo>({ ...info, deleted: undefined })
    case 'agent.selected':
      return { ...info, agent: event.data.agent }
    case 'model.selected':
      return { ...info, model: event.data.model }
    case 'step.started':
      // What was never selected is what runs.
      return {
        ...info,
        agent: info.agent ?? event.data.agent,
        model: info.model ?? event.data.model,
      }
    case 'step.streamed':
      return without({
        ...info,
        streamed: without({ cost: event.data.cost, tokens: event.data.tokens }),
      })
    case 'step.retried':
      return counted(info, info.streamed)
    case 'step.ended':
      return counted(info, event.data)
    case 'step.failed':
      return counted(info, without({ ...info.streamed, ...event.data }))
    case 'compaction.ended':
      return { ...counted(info, { cost: event.data.cost ?? 0 }), ...keep(info) }
    case 'usage.recorded':
      return { ...counted(info, event.data), ...keep(info) }
    default:
      return info
  }
}

const keep = (info: SessionInfo): Pick<SessionInfo, 'streamed'> =>
  info.streamed ? { streamed: info.streamed } : {}

const counted = (info: SessionInfo, spent: Partial<Usage> | undefined): SessionInfo => {
  const { streamed: _, ...rest } = info
  const { cost, tokens } = info.usage
  const more = spent?.tokens ?? noUsage.tokens
  return {
    ...rest,
    usage: {
      // Costs are decimals: a sum of doubles is rounded to a billionth of a dollar.
      cost: Math.round((cost + (spent?.cost ?? 0)) * 1e9) / 1e9,
      tokens: {
        input: tokens.input + more.input,
        output: tokens.output + more.output,
        reasoning: tokens.reasoning + more.reasoning,
        cacheRead: tokens.cacheRead + more.cacheRead,
        cacheWrite: tokens.cacheWrite + more.cacheWrite,
      },
    },
  }
}

const without = <T>(value: { [K in keyof T]: T[K] | undefined }): T => {
  const kept = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(kept) as T
}
