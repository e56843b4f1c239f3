import type { NewEvent } from '../../schema/events/envelope.ts'
import type { Answer, TestApp } from './test-app.ts'

type Call = Pick<TestApp, 'call'>

/** A turn as its owner holds it. */
export type HeldTurn = {
  readonly at: string
  /** Appends under the turn's fence, or under another. */
  append(events: readonly NewEvent[], fence?: number): Promise<Answer>
  claim(ownerId: string, fromFence: number): Promise<Answer>
}

/** Appends as anyone does. */
export const append = ({ call }: Call, sessionId: string, ...events: NewEvent[]): Promise<Answer> =>
  call('POST', `/v1/sessions/${sessionId}/events`, { events: events.map(toBody) })

/** A session, one prompt, and a turn that takes it up: `trn_1` of `own_1` under fence 1. */
export const holdTurn = async ({ call }: Call, sessionId: string): Promise<HeldTurn> => {
  await call('POST', '/v1/sessions', { sessionId })
  const session = `/v1/sessions/${sessionId}`
  await call('POST', `${session}/inputs`, { messageId: 'msg_user', text: 'do it' })
  const held = { turnId: 'trn_1', fence: 1 }
  const turn = { turnId: held.turnId, ownerId: 'own_1', incarnation: 1, inputs: ['msg_user'] }
  const { status, text } = await call('POST', `${session}/turns`, turn)
  if (status !== 201) throw new Error(`the turn was not started: ${text}`)
  const at = `${session}/turns/${held.turnId}`
  return {
    at,
    append: (events, fence = held.fence) =>
      call('POST', `${session}/events`, { ...held, fence, events: events.map(toBody) }),
    claim: (ownerId, fromFence) =>
      call('POST', `${at}/claim`, { ownerId, incarnation: 1, fromFence }),
  }
}

/** What the log holds of a session, in order. */
export const logOf = async ({ call }: Call, sessionId: string): Promise<readonly LogEvent[]> =>
  ((await call('GET', `/v1/sessions/${sessionId}/events?limit=500`)).body as { data: LogEvent[] })
    .data

export type LogEvent = {
  readonly seq: number
  readonly eventId: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>>
}

// What the store gives by itself is not sent.
const toBody = ({ eventId, type, data }: NewEvent): object => ({ eventId, type, data })
