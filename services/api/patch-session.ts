import { Refusal } from '../../schema/errors.ts'
import type { NewEvent } from '../../schema/events/envelope.ts'
import type { PatchSession } from '../../schema/http/sessions.ts'
import type { CommandOptions, Target } from '../log/command.ts'
import { readSessionInfo } from '../reads/session.ts'
import type { RouteDeps } from './deps.ts'
import { changesOf, needsCurrent } from './merge-patch.ts'
import { newEvent } from './new-event.ts'

/** Against others who write to the session between the read and the append. */
const mostTries = 8

/**
 * Renames a session and changes its metadata in one append. Where what the patch makes depends on
 * what is there, the append expects the head that was read, and is tried again if it has moved.
 */
export const patchSession = async (
  { pool, log, settings }: RouteDeps,
  target: Target,
  patch: PatchSession,
  options: CommandOptions,
): Promise<void> => {
  const reads = patch.metadata !== undefined && needsCurrent(patch.metadata)
  for (let tries = 1; ; tries += 1) {
    const session = reads ? await readSessionInfo(pool, target) : undefined
    const events = eventsOf(patch, session?.metadata ?? {}, settings.maxEventBytes)
    if (events.length === 0) return checkHead(pool, target, options)
    try {
      await log.execute({
        ...target,
        ...options,
        ...(session && { expectedSeq: session.headSeq }),
        kind: 'append',
        events,
      })
      return
    } catch (error) {
      const moved = error instanceof Refusal && error.code === 'expected_seq'
      if (!moved || tries === mostTries) throw error
    }
  }
}

const eventsOf = (
  { title, metadata }: PatchSession,
  current: Readonly<Record<string, unknown>>,
  maxEventBytes: number,
): NewEvent[] => {
  const events: NewEvent[] = []
  if (title !== undefined) {
    events.push(newEvent('session.renamed', { title: title ?? '' }, maxEventBytes))
  }
  if (metadata !== undefined) {
    const { set, unset } = changesOf(current, metadata)
    const data = {
      ...(Object.keys(set).length > 0 && { set: { ...set } }),
      ...(unset.length > 0 && { unset: [...unset] }),
    }
    if (Object.keys(data).length > 0) {
      events.push(newEvent('session.metadata.updated', data, maxEventBytes))
    }
  }
  return events
}

/** A patch that changes nothing appends nothing, but its condition holds all the same. */
const checkHead = async (
  pool: RouteDeps['pool'],
  target: Target,
  { ifMatch }: CommandOptions,
): Promise<void> => {
  if (ifMatch === undefined) return
  const { headSeq } = await readSessionInfo(pool, target)
  if (headSeq === ifMatch) return
  throw new Refusal('precondition_failed', `the session is at seq ${headSeq}, not ${ifMatch}`, {
    members: { headSeq },
  })
}
