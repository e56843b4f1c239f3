import type { Static } from 'typebox'
import type { SyncedSession } from '../../schema/http/sync.ts'
import { fit } from './display-width.ts'
import { separatorOf } from './render-mark.ts'
import { renderAsked } from './render-request.ts'
import { indent } from './render-text.ts'
import type { TranscriptView } from './render-transcript.ts'
import { visible, visibleLine } from './visible.ts'

export type OpenWork = Pick<
  Static<typeof SyncedSession>,
  'turn' | 'ownerAlive' | 'step' | 'openRequests' | 'inputs'
>

/** What is not finished: the turn and who runs it, calls, requests and inputs. Empty if all is. */
export const renderOpenWork = (
  { turn, ownerAlive, step, openRequests, inputs }: OpenWork,
  /** Of calls that have not settled, by `message/call`. */
  names: ReadonlyMap<string, string>,
  view: TranscriptView,
): string => {
  const { paint } = view
  const line = (text: string): string => fit(visibleLine(text), Math.max(40, view.columns))
  const lines = [
    ...(turn ? [paint('bold', line(turnLine(turn, ownerAlive)))] : []),
    ...(turn?.interrupt ? [indent(paint('yellow', stopLine(turn.turnId, view)))] : []),
    ...(step?.calls ?? []).map(({ callId, status, effect }) => {
      const name = names.get(`${step!.messageId}/${callId}`) ?? 'call'
      const once = effect === 'once' && status === 'dispatched' ? ', not to be run twice' : ''
      return indent(line(`${name} ${callId}: ${callStates[status]}${once}`))
    }),
    ...openRequests.map((request) => {
      const until = request.expiresAt === undefined ? '' : ` (until ${request.expiresAt})`
      const said = `${request.kind} ${request.requestId}${until}: ${renderAsked(request)}`
      return paint('yellow', line(`waits for an answer: ${said}`))
    }),
    ...inputs.map(({ messageId, kind, delivery, text }) => {
      const what = kind === 'prompt' ? 'input' : kind
      const said = text === undefined ? '' : `: ${text}`
      return paint('cyan', line(`waits to be taken up: ${what} ${messageId} (${delivery})${said}`))
    }),
  ]
  if (lines.length === 0) return ''
  return `\n${paint('dim', separatorOf('open', view))}\n${lines.join('\n')}\n`
}

const turnLine = (turn: NonNullable<OpenWork['turn']>, alive: boolean | undefined): string => {
  const { turnId, ownerId, released } = turn
  if (released) return `${turnId} was released by ${ownerId}: anyone may take it over`
  if (alive === false) return `${turnId}: its owner ${ownerId} is gone; anyone may take it over`
  return `${turnId} is run by ${ownerId}, who is alive`
}

/** Who asked the turn to stop, and why, as its events say. */
const stopLine = (turnId: string, { notes }: TranscriptView): string => {
  const asked = notes?.marks.find(
    (mark) => mark.type === 'turn.interrupt.requested' && mark.data.turnId === turnId,
  )
  if (asked?.type !== 'turn.interrupt.requested') return 'it was asked to stop'
  return visible(`${asked.data.by.subject} asked it to stop: ${asked.data.reason}`)
}

const callStates = {
  streaming: 'its input is being written',
  called: 'not started yet',
  waiting: 'waits for an answer',
  dispatched: 'running',
} as const
