import { Refusal } from '../../../schema/errors.ts'
import type { EventType } from '../../../schema/events/event-table.ts'
import { withMembers } from '../session-state.ts'
import { bring } from './draft.ts'
import { messageName } from './names.ts'
import { anyTime, type RulesOf } from './rule.ts'

type SessionEvent = Extract<
  EventType,
  `session.${string}` | `agent.${string}` | `model.${string}` | 'plan.updated'
>

export const sessionRules: RulesOf<SessionEvent> = {
  'session.created': (draft, data) => {
    if (draft.head !== 0)
      throw new Refusal('duplicate_id', `session ${draft.sessionId} is there already`)
    if (data.origin) {
      const { system, sessionId } = data.origin
      draft.state = withMembers(draft.state, { origin: { system, sessionId } })
    }
  },
  'session.forked': (draft) => {
    if (draft.head !== 0)
      throw new Refusal('duplicate_id', `session ${draft.sessionId} is there already`)
  },
  'session.renamed': anyTime,
  'session.metadata.updated': anyTime,
  'session.moved': anyTime,
  'session.viewed': anyTime,
  'session.archived': (draft) => {
    if (draft.state.archived) throw new Refusal('wrong_state', 'the session is archived already')
    draft.state = withMembers(draft.state, { archived: true })
  },
  'session.unarchived': (draft) => {
    if (!draft.state.archived) throw new Refusal('wrong_state', 'the session is not archived')
    draft.state = withMembers(draft.state, { archived: undefined })
  },
  'session.deleted': (draft) => {
    draft.state = withMembers(draft.state, { deleted: true })
  },
  'session.restored': (draft) => {
    if (!draft.state.deleted) throw new Refusal('wrong_state', 'the session is not deleted')
    draft.state = withMembers(draft.state, { deleted: undefined })
  },
  'agent.selected': (draft, data) => bring(draft, messageName(data.messageId)),
  'model.selected': (draft, data) => bring(draft, messageName(data.messageId)),
  'plan.updated': anyTime,
}
