import { eventTable, type EventData } from '../../../schema/events/event-table.ts'
import { deriveId } from '../../log/new-id.ts'
import type { TranslatedEvent } from '../translation.ts'
import { membersOf, toId, type Members } from './members.ts'
import { epoch, timeOf, type OpencodeSource } from './source.ts'

export type SessionFacts = {
  /** From what of the record never changes. */
  readonly created: TranslatedEvent
  readonly title: string | undefined
  /** Members of the record that have no home, each with the reason. */
  readonly left: readonly string[]
}

export const sessionIdOf = ({ session }: OpencodeSource): string => toId(session.id)

export const readSession = (source: OpencodeSource): SessionFacts => {
  const sessionId = sessionIdOf(source)
  const members = membersOf(source.session)
  members.any('id')
  const title = members.text('title')
  const createdAt = timeOf(members.within('time').any('created')) ?? epoch
  const data = {
    ...takeMembership(members),
    origin: { system: 'opencode', sessionId: source.session.id, live: false },
  }
  const created: TranslatedEvent = {
    eventId: deriveId('evt', sessionId, 'created'),
    type: 'session.created',
    version: eventTable['session.created'].version,
    occurredAt: createdAt,
    data,
    meta: {},
  }
  return { created, title, left: [...leftOf(members), ...besideOf(source)] }
}

const takeMembership = (
  members: Members,
): Pick<EventData<'session.created'>, 'project' | 'location' | 'parent'> => {
  const project = members.text('projectID')
  const parent = members.id('parentID')
  const place = members.within('location')
  const directory = place.text('directory')
  const workspaceId = directory === undefined ? undefined : place.text('workspaceID')
  return {
    ...(project !== undefined && { project }),
    ...(directory !== undefined && {
      location: { directory, ...(workspaceId !== undefined && { workspaceId }) },
    }),
    ...(parent !== undefined && { parent: { sessionId: parent } }),
  }
}

/** The title may change after any event, and no event says so: it belongs to the source's end. */
export const titled = (
  sessionId: string,
  title: string,
  end: { readonly id: string; readonly at: string },
): TranslatedEvent => ({
  eventId: deriveId('evt', sessionId, 'title', title, end.id),
  type: 'session.renamed',
  version: eventTable['session.renamed'].version,
  occurredAt: end.at,
  data: { title },
  meta: { importClosing: true },
})

const reasons: Readonly<Record<string, string>> = {
  cost: 'the sum of what the steps cost, which comes in with them',
  tokens: 'the sum of what the steps used, which comes in with them',
  agent: 'the last one selected or used, which the events say',
  model: 'the last one selected or used, which the events say',
  revert: 'what the last revert event says, which is kept as x.opencode.revert.staged',
}
const otherReason = 'it may change with the session, and no event says so'

const leftOf = (members: Members): string[] =>
  Object.entries(members.rest()).flatMap(([name, value]) => {
    if (name === 'time' || name === 'location') {
      return Object.keys(value as object).map(
        (member) =>
          `session.${name}.${member}: ${name === 'time' ? 'the times of the events say it' : otherReason}`,
      )
    }
    return [`session.${name}: ${Object.hasOwn(reasons, name) ? reasons[name] : otherReason}`]
  })

const besideReasons: Readonly<Record<string, string>> = {
  messages: "OpenCode's own projection of the events",
  context: "OpenCode's own projection of the events",
  questions: 'what was open when the file was written; the events say it',
  permissions: 'what was open when the file was written; the events say it',
  pending: 'what was open when the file was written; the events say it',
}

const besideOf = (source: OpencodeSource): string[] =>
  Object.entries(source)
    .filter(([name]) => name !== 'session' && name !== 'history')
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name]) => {
      const why = Object.hasOwn(besideReasons, name)
        ? besideReasons[name]
        : 'it is not of the session, but of the file'
      return `${name}: ${why}`
    })
