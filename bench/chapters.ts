import type { Act } from '../services/log/command.ts'
import type { Log } from '../services/log/open-log.ts'
import { event, model, prompt, startTurn, stepEnded } from '../test/harness/rehearsal.ts'
import { payload } from './payload.ts'

/** A session of so many events, through the log; commands that wait together go out together. */
export const buildSession = async (log: Log, sessionId: string, events: number): Promise<void> => {
  const target = { tenant: 1, sessionId }
  await log.execute({ ...target, kind: 'create', event: event('session.created', {}) })
  const together = 100
  for (let from = 1; from <= events / 10; from += together) {
    const through = Math.min(from + together - 1, events / 10)
    const acts = Array.from({ length: through - from + 1 }, (_, n) => chapter(from + n)).flat()
    await Promise.all(acts.map((act) => log.execute({ ...target, ...act })))
  }
}

/** Ten events and five rows: a turn with a prompt and an answer, and three notes. */
const chapter = (n: number): readonly Act[] => {
  const turnId = `trn_${n}`
  const messageId = `msg_${n}`
  const held = { turnId, fence: n }
  const note = (name: string) =>
    event('note.added', { messageId: `${name}_${n}`, role: 'system', text: 'note' })
  return [
    { kind: 'admit', event: prompt(`prompt_${n}`) },
    { ...startTurn(turnId, [`prompt_${n}`]), eventId: `evt_turn_${n}` } as Act,
    {
      kind: 'append',
      ...held,
      events: [
        event('step.started', { messageId, attempt: 1, agent: 'build', model }),
        event('text.ended', { messageId, partId: 't', text: payload.title }),
        stepEnded('stop', messageId),
        event('turn.ended', { turnId, outcome: 'completed', fence: n }),
      ],
    },
    { kind: 'append', events: [note('a'), note('b'), note('c')] },
  ]
}
