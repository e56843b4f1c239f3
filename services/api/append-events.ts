import { Refusal } from '../../schema/errors.ts'
import type { AppendEvents } from '../../schema/http/events.ts'
import type { CommandOptions, Outcome, Target } from '../log/command.ts'
import { checkEvents } from './check-events.ts'
import type { RouteDeps } from './deps.ts'

export type Appended = {
  readonly data: Pick<Outcome, 'firstSeq' | 'lastSeq' | 'headSeq' | 'events'>
  readonly headSeq: number
}

/**
 * Checks the events of a body and appends them, all or none. Calls made one after another on one
 * session are appended in that order, also when nobody waits for the answers between.
 */
export const appendEvents = (
  { log, live, settings }: Pick<RouteDeps, 'log' | 'live' | 'settings'>,
  target: Target,
  body: AppendEvents,
  options: CommandOptions,
): Promise<Appended> => {
  const { events, ...held } = body
  checkHeld(held)
  const command = {
    ...target,
    ...options,
    ...held,
    said: live.said(target),
    kind: 'append' as const,
    events: checkEvents(events, 'append', settings),
  }
  return log.execute(command).then(({ firstSeq, lastSeq, headSeq, events: appended }) => ({
    headSeq,
    data: { firstSeq, lastSeq, headSeq, events: appended },
  }))
}

const checkHeld = ({
  turnId,
  fence,
}: {
  readonly turnId?: string
  readonly fence?: number
}): void => {
  if ((turnId === undefined) === (fence === undefined)) return
  const missing = turnId === undefined ? 'turnId' : 'fence'
  throw new Refusal('invalid_body', 'turnId and fence are given together', {
    faults: [{ pointer: `/${missing}`, detail: 'must be there' }],
  })
}
