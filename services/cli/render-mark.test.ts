import t from 'tap'
import { displayWidth } from './display-width.ts'
import { plain } from './paint.ts'
import { renderMark } from './render-mark.ts'
import type { TranscriptView } from './render-transcript.ts'
import type { Mark } from './transcript-notes.ts'

const view: TranscriptView = { full: false, columns: 80, paint: plain, now: 0 }

const told = (type: string, data: object): string =>
  renderMark(
    { seq: 1, occurredAt: '2026-12-07T11:53:00.000Z', type, data } as unknown as Mark,
    view,
  )

const by = { subject: 'ana' }

t.test('a turn begins with a line across: when, which, whose', async (t) => {
  const line = told('turn.started', { turnId: 'trn_1', ownerId: 'laptop', inputs: [], fence: 1 })
  t.match(line, /^── 2026-12-07 11:53 ── trn_1 by laptop ─+$/)
  t.equal(displayWidth(line), 80)
  const long = told('turn.started', { turnId: 't'.repeat(128), ownerId: 'o'.repeat(128) })
  t.ok(displayWidth(long) <= 80)
  const resumed = told('turn.started', { turnId: 't', ownerId: 'o', resumes: ['req_1', 'req_2'] })
  t.match(resumed, '\n  goes on with the answer to req_1, req_2')
})

t.test('its end says how, by whom and why', async (t) => {
  const end = (data: object): string => told('turn.ended', { turnId: 't', fence: 1, ...data })
  t.equal(end({ outcome: 'completed' }), 'turn completed')
  t.equal(end({ outcome: 'completed', stopReason: 'refusal' }), 'turn completed (refusal)')
  const error = { kind: 'overflow', message: 'too long' }
  t.equal(end({ outcome: 'failed', error }), 'turn failed: overflow, too long')
  const interrupt = { reason: 'enough', by }
  t.equal(
    end({ outcome: 'interrupted', interrupt, error }),
    'turn interrupted: ana asked for it: enough; overflow, too long',
  )
  t.equal(
    told('turn.interrupt.requested', { turnId: 't', reason: 'enough', by }),
    'ana asked the turn to stop: enough',
  )
})

t.test('a take-over says from whom, and what became of the calls', async (t) => {
  const call = (was: string, now: string) => ({ messageId: 'm', callId: now, was, now })
  const report = {
    step: { messageId: 'm', attempt: 1, now: 'failed' },
    calls: [
      call('dispatched', 'called'),
      call('dispatched', 'called'),
      call('called', 'called'),
      call('dispatched', 'unknown'),
      call('called', 'waiting'),
    ],
  }
  const claim = { turnId: 't', ownerId: 'server', fromOwnerId: 'laptop', report }
  t.equal(
    told('turn.claimed', claim),
    `server took the turn over from laptop
  2 calls may run again
  1 call had not started
  1 call unknown: nobody knows whether it ran
  1 call waiting for an answer
  its step failed`,
  )
  t.match(told('turn.released', { turnId: 't', fence: 2 }), /released: anyone may take it over/)
})

t.test('a request that no call asked is told, and how it ended', async (t) => {
  const questions = [{ question: 'Which?', options: [{ label: 'this' }, { label: 'that' }] }]
  const opened = { requestId: 'req_1', kind: 'question', questions }
  t.equal(told('request.opened', opened), 'question\n  Which? (this, that)')
  const closed = { requestId: 'req_1', reason: 'expired' }
  t.equal(told('request.closed', closed), 'req_1: nobody answered in time')
})

t.test('no word of a mark can drive the terminal', async (t) => {
  const evil = '\u001b[31m\u0007\u202e\r'
  const all = [
    told('turn.started', { turnId: evil, ownerId: evil, resumes: [evil] }),
    told('turn.claimed', { ownerId: evil, fromOwnerId: evil, report: { calls: [] } }),
    told('turn.interrupt.requested', { reason: evil, by: { subject: evil } }),
    told('turn.ended', {
      outcome: 'failed',
      stopReason: evil,
      error: { kind: 'tool', message: evil },
      interrupt: { reason: evil, by: { subject: evil } },
    }),
    told('request.opened', {
      kind: 'permission',
      permission: { action: evil, resources: [evil] },
    }),
    told('request.closed', { requestId: evil, reason: 'replied', messageId: evil }),
  ]
  // oxlint-disable-next-line no-control-regex
  t.notMatch(all.join('\n'), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
})
