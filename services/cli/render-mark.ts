import type { EventData } from '../../schema/events/event-table.ts'
import { displayWidth, fit } from './display-width.ts'
import { renderAsked, renderClosed } from './render-request.ts'
import { indent } from './render-text.ts'
import type { TranscriptView } from './render-transcript.ts'
import type { Mark } from './transcript-notes.ts'
import { visible, visibleLine } from './visible.ts'

/** What became of a turn, or of a request that no call asked. */
export const renderMark = (mark: Mark, view: TranscriptView): string => {
  const { paint } = view
  switch (mark.type) {
    case 'turn.started': {
      const { turnId, ownerId, resumes = [] } = mark.data
      const line = separator(mark.occurredAt, `${turnId} by ${ownerId}`, view)
      if (resumes.length === 0) return line
      return `${line}\n${indent(paint('dim', visibleLine(`goes on with the answer to ${resumes.join(', ')}`)))}`
    }
    case 'turn.claimed': {
      const { ownerId, fromOwnerId, report } = mark.data
      const line = paint('yellow', visibleLine(`${ownerId} took the turn over from ${fromOwnerId}`))
      return [line, ...reported(report).map((said) => indent(paint('dim', said)))].join('\n')
    }
    case 'turn.released':
      return paint('yellow', 'the turn was released: anyone may take it over')
    case 'turn.interrupt.requested': {
      const { by, reason } = mark.data
      return paint('yellow', visible(`${by.subject} asked the turn to stop: ${reason}`))
    }
    case 'turn.ended':
      return renderEnd(mark.data, view)
    case 'request.opened': {
      const { kind } = mark.data
      return [paint('yellow', kind), indent(renderAsked(mark.data))].join('\n')
    }
    default:
      return paint('yellow', `${visibleLine(mark.data.requestId)}: ${renderClosed(mark.data)}`)
  }
}

/** A line across, with the time and what begins. */
export const separator = (at: string, what: string, view: TranscriptView): string =>
  view.paint('dim', separatorOf(`${at.slice(0, 16).replace('T', ' ')} ── ${what}`, view))

/** A line across, with words near its beginning. */
export const separatorOf = (said: string, { columns }: TranscriptView): string => {
  const width = Math.min(columns, 100)
  const words = fit(visibleLine(`── ${said}`), width - 3)
  return `${words} ${'─'.repeat(Math.max(2, width - displayWidth(words) - 1))}`
}

const renderEnd = (
  { outcome, error, interrupt, stopReason }: EventData<'turn.ended'>,
  { paint }: TranscriptView,
): string => {
  const stopped = stopReason === undefined ? '' : ` (${stopReason})`
  const why = [
    interrupt && `${interrupt.by.subject} asked for it: ${interrupt.reason}`,
    error && `${error.kind}${error.message ? `, ${error.message}` : ''}`,
  ].filter((said) => said !== undefined)
  const line = `turn ${outcome}${stopped}${why.length > 0 ? `: ${why.join('; ')}` : ''}`
  return paint(styles[outcome] ?? 'dim', visible(line))
}

const styles = { completed: 'dim', failed: 'red', interrupted: 'yellow' } as const

/** What the new owner found, in words. */
const reported = ({ step, calls }: EventData<'turn.claimed'>['report']): string[] => {
  const counts = Map.groupBy(calls, ({ was, now }) =>
    now === 'called' && was === 'dispatched' ? 'again' : now,
  )
  const said = [...counts].map(([now, { length }]) => `${calledCalls(length)} ${fates[now]}`)
  if (step?.now === 'failed') said.push('its step failed')
  return said
}

const calledCalls = (count: number): string => (count === 1 ? '1 call' : `${count} calls`)

const fates = {
  again: 'may run again',
  called: 'had not started',
  streamed: 'had not been recorded',
  waiting: 'waiting for an answer',
  dispatched: 'running on in another session',
  cancelled: 'cancelled',
  unknown: 'unknown: nobody knows whether it ran',
} as const
