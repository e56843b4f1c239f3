import { Refusal } from '../../schema/errors.ts'
import type { Act } from '../../services/log/command.ts'
import type { Log } from '../../services/log/open-log.ts'
import { event, prompt } from './rehearsal.ts'

const owners = ['own_1', 'own_2', 'own_a']
const question = { kind: 'question' as const, questions: [{ question: '?', options: [] }] }

/**
 * What owners and people do to some sessions, one act at a time, as chance has it: inputs, turns that
 * are released, claimed, interrupted, ended and failed, requests that are answered, closed and left,
 * deletes and restores. What the rules refuse is passed over. Gives how many acts were taken.
 */
export const playLists = async (
  log: Log,
  sessions: readonly string[],
  options: {
    readonly random: () => number
    readonly acts: number
    readonly between: () => Promise<unknown>
  },
): Promise<number> => {
  const { random, acts, between } = options
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const run = Math.floor(random() * 1e9)
  let made = 0
  const id = (prefix: string): string => `${prefix}_${run}_${(made += 1)}`
  const open = new Map(
    sessions.map((sessionId) => [
      sessionId,
      {
        turn: undefined as { turnId: string; fence: number } | undefined,
        ended: [] as string[],
        inputs: [] as string[],
        requests: [] as string[],
      },
    ]),
  )
  const next = (sessionId: string): Act => {
    const session = open.get(sessionId)!
    const { turn, inputs, requests } = session
    const eventId = id('evt')
    const owner = { ownerId: pick(owners), incarnation: 1 }
    const by = { subject: 'me' }
    const messageId = id('msg')
    const last = turn ?? { turnId: session.ended.at(-1) ?? 'trn_none', fence: 1 }
    const write = (...events: ReturnType<typeof event>[]): Act => ({
      kind: 'append',
      turnId: last.turnId,
      fence: last.fence,
      events,
    })
    switch (Math.floor(random() * 15)) {
      case 0:
      case 1: {
        inputs.push(messageId)
        return { kind: 'admit', event: prompt(messageId, random() < 0.5 ? 'steer' : 'queue') }
      }
      case 2:
      case 3:
      case 4: {
        const taken = inputs.filter(() => random() < 0.5)
        const resumes = random() < 0.2 ? { resumes: [pick(requests)] } : {}
        return {
          kind: 'start-turn',
          turnId: id('trn'),
          ...owner,
          inputs: taken,
          ...resumes,
          eventId,
        }
      }
      case 5:
      case 6: {
        const requestId = id('req')
        requests.push(requestId)
        const expiresAt = new Date(Date.now() + 1e6 * random()).toISOString()
        return write(
          event('request.opened', {
            requestId,
            ...question,
            ...(random() < 0.5 && { expiresAt }),
          }),
        )
      }
      case 7: {
        const requestId = pick(requests)
        const answer = { answers: [[id('text')]] }
        return { kind: 'answer-request', requestId, messageId, answer, by, eventId }
      }
      case 8: {
        const reason = pick(['rejected', 'dismissed', 'replied'] as const)
        return { kind: 'close-request', requestId: pick(requests), reason, eventId }
      }
      case 9:
        return { kind: 'release-turn', ...last, eventId }
      case 10:
        return { kind: 'claim-turn', turnId: last.turnId, ...owner, fromFence: last.fence, eventId }
      case 11: {
        const grace = pick([{}, { graceMs: 60_000 }, { graceMs: 5_000 }, { graceMs: 0 }])
        const { turnId } = last
        return { kind: 'interrupt-turn', turnId, reason: 'enough', by, ...grace, eventId }
      }
      case 12: {
        const outcome = pick(['completed', 'failed'] as const)
        return write(event('turn.ended', { turnId: last.turnId, outcome, fence: last.fence }))
      }
      case 13:
        return { kind: 'cancel-input', messageId: pick(inputs) ?? 'msg_none', eventId }
      default:
        return random() < 0.3
          ? { kind: 'delete', eventId }
          : random() < 0.7
            ? { kind: 'restore', eventId }
            : write(
                event('input.delivered', {
                  messageId: pick(inputs) ?? 'msg_none',
                  turnId: last.turnId,
                }),
              )
    }
  }
  const follow = (
    sessionId: string,
    act: Act,
    turn: { turnId: string; fence: number } | undefined,
  ) => {
    const session = open.get(sessionId)!
    const end = (): void => {
      if (session.turn) session.ended.push(session.turn.turnId)
      session.turn = undefined
    }
    if (act.kind === 'start-turn' || act.kind === 'claim-turn' || act.kind === 'release-turn') {
      session.turn = turn
    }
    if (act.kind === 'delete' || (act.kind === 'interrupt-turn' && act.graceMs === 0)) end()
    if (act.kind === 'append' && act.events[0]?.type === 'turn.ended') end()
  }
  let taken = 0
  for (const sessionId of sessions) {
    // Of a source whose requests belonged to no turn: they can be answered while none is active.
    const origin = { system: 'random', sessionId }
    const asked = Array.from({ length: 5 }, () => id('req'))
    open.get(sessionId)!.requests.push(...asked)
    const events = [
      event('session.created', { origin }),
      ...asked.map((requestId) => event('request.opened', { requestId, ...question })),
    ]
    await log.execute({ tenant: 1, sessionId, kind: 'import', origin, events })
  }
  for (let n = 0; n < acts; n += 1) {
    const sessionId = pick(sessions)
    const act = next(sessionId)
    try {
      const outcome = await log.execute({ tenant: 1, sessionId, ...act })
      follow(sessionId, act, outcome.turn)
      taken += 1
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
    await between()
  }
  return taken
}
