import t from 'tap'
import type { NewEvent, StoredEvent } from '../../schema/events/envelope.ts'
import type { Context, ContextEntry } from '../../schema/http/context.ts'
import { contextOf } from '../../test/harness/context-of.ts'
import { brokenRules } from '../../test/harness/provider-messages/check.ts'
import {
  called,
  dispatched,
  event,
  inTurn,
  prompt,
  rehearse,
  rehearseTurn,
  settled,
  startTurn,
  stepEnded,
  stepStarted,
  turnEnded,
  type Rehearsal,
} from '../../test/harness/rehearsal.ts'
import { fold } from '../transcript/fold.ts'
import { emptyView } from '../transcript/view.ts'

const occurredAt = '2026-01-01T00:00:00.000Z'

/** The context of what was rehearsed; providers must take it. */
const contextNow = (s: Rehearsal, waiting?: 'placeholder'): Context => {
  const view = emptyView()
  for (const given of s.log)
    fold(view, { ...given, occurredAt, recordedAt: occurredAt } as StoredEvent)
  const context = contextOf(view, s.session.head, { waiting })
  t.same(brokenRules(context.entries), [], 'providers take it')
  return context
}

/** One line for each entry: who, and what is said. */
const told = ({ entries }: Context): string[] => entries.map(line)

const line = (entry: ContextEntry): string => {
  switch (entry.role) {
    case 'assistant': {
      const parts = entry.parts.map((part) =>
        part.type === 'call' ? `${part.callId}(${JSON.stringify(part.input)})` : part.text,
      )
      return `assistant: ${parts.join(' | ')}`
    }
    case 'tool': {
      const texts = entry.content.map((item) => (item.type === 'text' ? item.text : item.uri))
      return `${entry.callId} ${entry.outcome}: ${texts.join(' | ')}`
    }
    case 'shell':
      return `shell: ${entry.command}`
    default:
      return `${entry.role}: ${entry.text}`
  }
}

const text = (said: string, partId = 't', messageId = 'msg_1', partial?: true): NewEvent =>
  event('text.ended', { messageId, partId, text: said, ...(partial && { partial }) })

const thought = (partId: string, more: { providerState?: unknown; text?: string } = {}): NewEvent =>
  event('reasoning.ended', { messageId: 'msg_1', partId, text: 'hm', ...more })

const ask = (callId: string): NewEvent =>
  event('request.opened', {
    requestId: 'req_1',
    kind: 'question',
    messageId: 'msg_1',
    callId,
    questions: ['Which?', 'And?'].map((question) => ({ question, options: [{ label: 'this' }] })),
  })

type AnswerAct = Extract<Parameters<Rehearsal['accept']>[0], { kind: 'answer-request' }>

const answer: AnswerAct = {
  kind: 'answer-request',
  requestId: 'req_1',
  messageId: 'msg_answer',
  answer: { answers: [['this'], null] },
  by: { subject: 'ana' },
  eventId: 'evt_answer',
}

const ok = (callId: string, said = 'done'): NewEvent =>
  event('tool.settled', {
    messageId: 'msg_1',
    callId,
    outcome: 'ok',
    content: [{ type: 'text', text: said }],
  })

t.test('an open question is there only with a placeholder, and only if asked for', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('a'), dispatched('a'), ok('a'), called('q'), ask('q')))
  t.same(told(contextNow(s)), ['user: do it', 'assistant: a({})', 'a ok: done'])
  t.match(contextNow(s).leftOut, [{ messageId: 'msg_1', partId: 'q', reason: 'unsettled' }])
  const waiting = contextNow(s, 'placeholder')
  t.same(told(waiting), [
    'user: do it',
    'assistant: a({}) | q({})',
    'a ok: done',
    'q waiting: This call waits for an answer from a person.',
  ])
  t.match(waiting.entries.at(-1), { placeholder: true, requestId: 'req_1' })
  t.same(waiting.leftOut, [])
})

t.test('an answer is left out, for the result of its call carries it', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('q'), ask('q')))
  s.accept(answer)
  t.same(told(contextNow(s, 'placeholder')), ['user: do it'], 'answered, but without a result')
  s.accept(inTurn(settled('q', 'ok'), stepEnded('tool-calls')))
  const context = contextNow(s)
  t.same(told(context), ['user: do it', 'assistant: q({})', 'q ok: this; (skipped)'])
  t.match(context.leftOut, [{ messageId: 'msg_answer', reason: 'answer' }])
})

t.test('an answer to what was asked without a call is there in words', async (t) => {
  const s = rehearseTurn()
  const { requestId, kind, questions } = ask('q').data as {
    requestId: string
    kind: 'question'
    questions: []
  }
  s.accept(inTurn(event('request.opened', { requestId, kind, questions })))
  s.accept(answer)
  t.same(told(contextNow(s)), ['user: do it', 'user: this; (skipped)'])
})

t.test('what was denied says so, with the words of the person', async (t) => {
  const s = rehearseTurn()
  const { questions: _, ...asked } = ask('p').data as Record<string, unknown>
  const permission = { action: 'run', resources: ['rm'] }
  const opened = { ...asked, kind: 'permission', permission } as never
  s.accept(inTurn(stepStarted(), called('p'), event('request.opened', opened)))
  s.accept({ ...answer, answer: { decision: 'reject_once', message: 'use git rm' } })
  s.accept(inTurn(settled('p', 'denied')))
  t.same(told(contextNow(s)).at(-1), 'p denied: This call was not allowed. Not allowed. use git rm')
})

t.test('of a step that was retried only the last attempt is there', async (t) => {
  const s = rehearseTurn()
  const error = { kind: 'provider' as const, message: 'x' }
  s.accept(inTurn(stepStarted(), text('first'), called('a', 'read')))
  s.accept(inTurn(event('step.retried', { messageId: 'msg_1', attempt: 2, error })))
  t.same(told(contextNow(s)), ['user: do it'])
  s.accept(inTurn(text('second'), stepEnded('stop')))
  const context = contextNow(s)
  t.same(told(context), ['user: do it', 'assistant: second'])
  t.same(context.leftOut, [
    { messageId: 'msg_1', partId: 't', reason: 'superseded' },
    { messageId: 'msg_1', partId: 'a', reason: 'superseded' },
  ])
})

t.test('after a take-over a call is unknown, until somebody finds out', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), event('text.started', { messageId: 'msg_1', partId: 't' })))
  s.accept(inTurn(called('a'), dispatched('a')))
  s.accept({ kind: 'release-turn', turnId: 'trn_1', fence: 1, eventId: 'evt_release' })
  s.accept({
    kind: 'claim-turn',
    turnId: 'trn_1',
    ownerId: 'own_2',
    incarnation: 1,
    fromFence: 2,
    eventId: 'evt_claim',
  })
  const unknown = 'a unknown: It is not known what came of this call: it may have run.'
  t.same(told(contextNow(s)), ['user: do it', 'assistant: a({})', unknown])
  t.match(contextNow(s).leftOut, [{ partId: 't', reason: 'empty' }])
  const resolved = {
    messageId: 'msg_1',
    callId: 'a',
    outcome: 'ok' as const,
    content: [{ type: 'text' as const, text: '3 rows' }],
    evidence: 'the table',
  }
  s.accept({ kind: 'append', events: [event('tool.resolved', resolved)] })
  t.same(told(contextNow(s)).at(-1), 'a ok: 3 rows')
})

t.test('a call whose input never became whole is not there, nor its message', async (t) => {
  const s = rehearseTurn()
  const streaming = { messageId: 'msg_1', callId: 'a', name: 'bash' }
  s.accept(inTurn(stepStarted(), thought('r'), event('tool.input.started', streaming)))
  s.accept(inTurn(turnEnded('interrupted')))
  const context = contextNow(s)
  t.same(told(context), ['user: do it'])
  t.same(context.leftOut, [
    { messageId: 'msg_1', partId: 'a', reason: 'not-called' },
    { messageId: 'msg_1', partId: 'r', reason: 'nothing-follows' },
    { messageId: 'msg_1', reason: 'empty' },
  ])
})

t.test('an input that is steered in between a call and its result comes after both', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('a'), called('b', 'read'), dispatched('a')))
  s.accept({ kind: 'admit', event: prompt('msg_2', 'steer') })
  s.accept(inTurn(event('input.delivered', { messageId: 'msg_2', turnId: 'trn_1' })))
  s.accept({ kind: 'append', events: [event('note.added', note)] })
  s.accept(inTurn(ok('a'), dispatched('b'), ok('b'), stepEnded('tool-calls')))
  t.same(told(contextNow(s)), [
    'user: do it',
    'assistant: a({}) | b({})',
    'a ok: done',
    'b ok: done',
    'user: do it',
    'system: mind the gap',
  ])
})

const note = { messageId: 'msg_note', role: 'system' as const, text: 'mind the gap' }

t.test('what is excluded leaves a placeholder, and nothing of its content', async (t) => {
  const s = rehearseTurn()
  const exclude = (partId: string): NewEvent =>
    event('part.excluded', { messageId: 'msg_1', partId, reason: 'too long' })
  s.accept(inTurn(stepStarted(), text('SECRET'), called('a'), dispatched('a'), ok('a', 'SECRET')))
  s.accept(inTurn(stepEnded('tool-calls')))
  s.accept({ kind: 'append', events: [exclude('t'), exclude('a')] })
  const context = contextNow(s)
  t.same(told(context).slice(1), [
    'assistant: [left out: too long] | a({})',
    'a ok: [left out: too long]',
  ])
  t.notMatch(JSON.stringify(context), /SECRET/)
  t.same(
    context.leftOut.map(({ partId, reason }) => [partId, reason]),
    [
      ['t', 'excluded'],
      ['a', 'excluded'],
    ],
  )
  const included = event('part.included', { messageId: 'msg_1', partId: 'a', reason: '' })
  s.accept({ kind: 'append', events: [included] })
  t.same(told(contextNow(s)).at(-1), 'a ok: SECRET')
})

t.test('a text that was cut off stays; a thought that was, or led nowhere, does not', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), thought('r1', { text: '', providerState: { sealed: 1 } })))
  s.accept(inTurn(text('I was abo', 't', 'msg_1', true), thought('r2')))
  s.accept(inTurn(event('reasoning.started', { messageId: 'msg_1', partId: 'r3' })))
  s.accept(inTurn(turnEnded('interrupted')))
  const context = contextNow(s)
  t.same(told(context), ['user: do it', 'assistant:  | I was abo'])
  t.match(context.entries[1], { parts: [{ partId: 'r1', providerState: { sealed: 1 } }, {}] })
  t.same(context.leftOut, [
    { messageId: 'msg_1', partId: 'r3', reason: 'partial' },
    { messageId: 'msg_1', partId: 'r2', reason: 'nothing-follows' },
  ])
})

t.test('an error is said in the result, beside what the call had given out', async (t) => {
  const s = rehearseTurn()
  const error = { kind: 'tool' as const, message: 'exit 1' }
  const content = [{ type: 'text' as const, text: 'half of it' }]
  const failed = { messageId: 'msg_1', callId: 'a', outcome: 'error' as const, content, error }
  s.accept(inTurn(stepStarted(), called('a'), dispatched('a'), event('tool.settled', failed)))
  t.same(told(contextNow(s)).at(-1), 'a error: half of it | exit 1')
})

t.test('an id that was used before is numbered, and the reply says so', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(stepStarted(), called('a'), dispatched('a'), ok('a'), stepEnded('tool-calls')))
  for (const messageId of ['msg_2', 'msg_3']) {
    const call = { ...(called('a', 'read').data as object), messageId, input: 'ls' } as never
    s.accept(inTurn(stepStarted(messageId), event('tool.called', call)))
    const settledAs = { messageId, callId: 'a', outcome: 'error' as const, content: [] }
    s.accept(inTurn(event('tool.settled', settledAs), stepEnded('tool-calls', messageId)))
  }
  const context = contextNow(s)
  t.same(told(context).slice(3), [
    'assistant: a_2({"input":"ls"})',
    'a_2 error: The call failed.',
    'assistant: a_3({"input":"ls"})',
    'a_3 error: The call failed.',
  ])
  t.match(context.changed, [
    { messageId: 'msg_2', partId: 'a', what: 'callId', from: 'a', to: 'a_2' },
    { messageId: 'msg_2', partId: 'a', what: 'input' },
    { messageId: 'msg_3', partId: 'a', what: 'callId', from: 'a', to: 'a_3' },
    { messageId: 'msg_3', partId: 'a', what: 'input' },
  ])
})

const compact = (keepFromMessageId?: string, end = true): NewEvent[] => [
  event('compaction.started', { compactionId: 'cmp', messageId: 'msg_cmp', reason: 'auto' }),
  ...(end
    ? [
        event('compaction.ended', {
          compactionId: 'cmp',
          summary: 'all of it',
          ...(keepFromMessageId !== undefined && { keepFromMessageId }),
          tokensBefore: 9,
          tokensAfter: 1,
        }),
      ]
    : []),
]

t.test('after a compaction its summary comes first, then what it keeps', async (t) => {
  for (const [keep, kept] of [
    [undefined, []],
    ['msg_2', ['assistant: b']],
  ] as const) {
    const s = rehearseTurn()
    s.accept(inTurn(stepStarted(), text('a'), stepEnded('stop')))
    s.accept(inTurn(stepStarted('msg_2'), text('b', 't', 'msg_2'), stepEnded('stop', 'msg_2')))
    s.accept(inTurn(...compact(keep, false)))
    t.same(told(contextNow(s)).length, 3, 'one under way changes nothing')
    s.accept({ kind: 'append', events: [event('note.added', note)] })
    s.accept(inTurn(...compact(keep).slice(1)))
    s.accept(inTurn(stepStarted('msg_3'), text('c', 't', 'msg_3'), stepEnded('stop', 'msg_3')))
    t.same(told(contextNow(s)), [
      'summary: all of it',
      ...kept,
      'system: mind the gap',
      'assistant: c',
    ])
  }
})

t.test('what came between a compaction and what it keeps from is not lost', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(compact()[0]!))
  const second = { ...note, messageId: 'msg_note2', text: 'second' }
  const events = [event('note.added', note), event('note.added', second)]
  s.accept({ kind: 'append', events })
  s.accept(inTurn(compact('msg_note2')[1]!))
  t.same(told(contextNow(s)), ['summary: all of it', 'system: mind the gap', 'system: second'])
})

t.test(
  'a conversation that an assistant began gets a first entry that it answers to',
  async (t) => {
    const s = rehearse()
    s.accept({ kind: 'create', event: event('session.created', {}) })
    s.accept(startTurn('trn_1'))
    s.accept({ kind: 'append', events: [event('note.added', note)] })
    s.accept(inTurn(stepStarted(), text('hello'), stepEnded('stop')))
    const context = contextNow(s)
    t.same(told(context), [
      'synthetic: (The conversation begins without an input.)',
      'system: mind the gap',
      'assistant: hello',
    ])
    t.match(context.entries[0], { placeholder: true, messageId: 'msg_1' })
  },
)

t.test('blank messages are not there, and a shell that runs', async (t) => {
  const s = rehearseTurn()
  s.accept(inTurn(turnEnded()))
  const admitted = { ...(prompt('msg_2').data as object), text: ' \n' } as never
  s.accept({ kind: 'admit', event: event('input.admitted', admitted) })
  const file = { type: 'file', mediaType: 'image/png', uri: 'file:///a.png' } as const
  const files = { ...(prompt('msg_3').data as object), text: ' ', files: [file] } as never
  s.accept({ kind: 'admit', event: event('input.admitted', files) })
  s.accept(startTurn('trn_2', ['msg_2', 'msg_3']))
  s.accept({
    kind: 'append',
    events: [
      event('shell.started', { messageId: 'msg_4', command: 'ls' }),
      event('shell.started', { messageId: 'msg_5', command: 'make' }),
      event('shell.ended', { messageId: 'msg_4', output: '', exit: 0 }),
    ],
  })
  const context = contextNow(s)
  t.same(told(context), ['user: do it', 'user: undefined', 'shell: ls'])
  t.match(context.entries[1], { files: [file] })
  t.same(context.leftOut, [
    { messageId: 'msg_2', reason: 'empty' },
    { messageId: 'msg_5', reason: 'unsettled' },
  ])
})
