import fc from 'fast-check'
import t from 'tap'
import { randomImport } from '../../test/harness/random-import.ts'
import { randomSession } from '../../test/harness/random-session.ts'
import { called, dispatched, event, prompt, stepStarted } from '../../test/harness/rehearsal.ts'
import { seeded } from '../../test/harness/seeded.ts'
import { openTestApp, type TestApp } from '../../test/harness/test-app.ts'
import type { NewEvent } from '../../schema/events/envelope.ts'
import { projectTranscript } from '../projector/project-transcript.ts'

t.setTimeout(300_000)

type Message = { readonly messageId: string; readonly seq: number }
type Messages = {
  readonly changed: readonly Message[]
  readonly removed: readonly string[]
  readonly reset?: true
  readonly reason?: string
}
type Entry = {
  readonly sessionId: string
  readonly headSeq: number
  readonly followSeq: number
  readonly messages: Messages
  readonly error?: { readonly code: string }
}
type Reply = { readonly data: readonly Entry[]; readonly log: string }

const sync = async (
  { call }: TestApp,
  sessions: readonly { readonly sessionId: string; readonly afterSeq: number }[],
  more: object = {},
): Promise<Reply> => {
  const { status, text } = await call('POST', '/v1/sync', { sessions, ...more })
  if (status !== 200) throw new Error(text)
  return JSON.parse(text) as Reply
}

const append = (api: TestApp, sessionId: string, ...events: NewEvent[]) =>
  api.log.execute({ tenant: 1, sessionId, kind: 'append', events })
const note = (messageId: string, text = 'n'): NewEvent =>
  event('note.added', { messageId, role: 'system', text })

const pageOf = async ({ call }: TestApp, sessionId: string, query = ''): Promise<Message[]> => {
  const path = `/v1/sessions/${sessionId}/messages?limit=500${query}`
  const { status, text } = await call('GET', path)
  if (status !== 200) throw new Error(text)
  return (JSON.parse(text) as { data: Message[] }).data
}

const sidOf = async ({ database }: TestApp, sessionId: string): Promise<number> => {
  const [row] = await database.pool.use((connection) =>
    connection.query<{ sid: number }>('select sid from stemma.session where session_id = $1', [
      sessionId,
    ]),
  )
  return row!.sid
}

t.test(
  'case 36: of twenty sessions reconciled the one that is deleted says so, and nineteen go on',
  async (t) => {
    await using api = await openTestApp()
    const ids = Array.from({ length: 20 }, (_, n) => `ses_${n}`)
    for (const sessionId of ids) {
      await api.call('POST', '/v1/sessions', { sessionId })
      await append(api, sessionId, note(`${sessionId}_old`), note(`${sessionId}_new`))
    }
    await api.call('DELETE', '/v1/sessions/ses_7')
    const asked = [...ids, 'nobody'].map((sessionId) => ({ sessionId, afterSeq: 2 }))
    const { data, log } = await sync(api, asked)
    t.ok(log)
    t.same(
      data.map(({ sessionId }) => sessionId),
      [...ids, 'nobody'],
      'in the order of the request',
    )
    const errors = data.filter(({ error }) => error)
    t.match(errors, [
      { sessionId: 'ses_7', error: { code: 'session_deleted', status: 410, headSeq: 4 } },
      { sessionId: 'nobody', error: { code: 'session_not_found', status: 404, title: String } },
    ])
    for (const entry of data.filter(({ error }) => !error)) {
      t.match(entry, { headSeq: 3, followSeq: 3, status: 'idle', inputs: [], openRequests: [] })
      t.same(
        entry.messages.changed.map(({ messageId }) => messageId),
        [`${entry.sessionId}_new`],
      )
    }
    t.same(api.reported, [])
  },
)

t.test('what a host has, and what a sync says has changed, is the page of the head', async (t) => {
  await using api = await openTestApp()
  let sessions = 0
  let changes = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      async (seed, turns, imported) => {
        const random = seeded(seed)
        const sessionId = `ses_${(sessions += 1)}`
        const acts = imported ? randomImport(random, turns) : randomSession(random, turns).acts
        for (const act of acts) {
          await api.log.execute({ tenant: 1, sessionId, ...act })
          if (random() < 0.05) {
            await projectTranscript(api.database.pool, await sidOf(api, sessionId))
          }
        }
        for (const projected of [false, true]) {
          if (projected) await projectTranscript(api.database.pool, await sidOf(api, sessionId))
          const head = await pageOf(api, sessionId)
          for (let n = 0; n < 4; n += 1) {
            const afterSeq = Math.floor(random() * 200)
            const { data } = await sync(api, [{ sessionId, afterSeq }])
            const { messages, headSeq } = data[0]!
            if (afterSeq > headSeq) {
              t.match(messages, { reset: true, reason: 'ahead' })
              continue
            }
            const copy = new Map(
              (await pageOf(api, sessionId, `&atSeq=${afterSeq}`)).map((m) => [m.messageId, m]),
            )
            for (const message of messages.changed) copy.set(message.messageId, message)
            for (const messageId of messages.removed) copy.delete(messageId)
            changes += messages.changed.length
            t.strictSame(
              [...copy.values()].toSorted((a, b) => a.seq - b.seq),
              head,
              `${seed}: from ${afterSeq} to ${headSeq}`,
            )
            t.ok(messages.changed.length <= headSeq - afterSeq || afterSeq === 0, 'no more')
          }
        }
      },
    ),
    { numRuns: 8 },
  )
  t.ok(changes > 0)
  t.same(api.reported, [])
})

t.test('what is open is said: the turn, its step and calls, requests, inputs', async (t) => {
  await using api = await openTestApp()
  const target = { tenant: 1, sessionId: 's' }
  await api.call('POST', '/v1/sessions', { sessionId: 's' })
  await api.log.execute({ ...target, kind: 'admit', event: prompt('msg_user') })
  await api.log.execute({
    ...target,
    kind: 'start-turn',
    turnId: 'trn_1',
    ownerId: 'own_1',
    incarnation: 1,
    inputs: [],
    eventId: 'evt_start',
  })
  const question = { question: 'which?', options: [{ label: 'a' }] }
  const opened = { messageId: 'msg_1', callId: 'ask', questions: [question] }
  await api.log.execute({
    ...target,
    kind: 'append',
    turnId: 'trn_1',
    fence: 1,
    events: [
      stepStarted(),
      called('read', 'read'),
      called('once'),
      called('ask', 'read'),
      dispatched('once'),
      event('request.opened', { requestId: 'req_1', kind: 'question', ...opened }),
    ],
  })
  const { data } = await sync(api, [{ sessionId: 's', afterSeq: 0 }])
  t.match(data[0], {
    status: 'requires_action',
    turn: { turnId: 'trn_1', ownerId: 'own_1', fence: 1, startedSeq: 3 },
    ownerAlive: true,
    step: {
      messageId: 'msg_1',
      attempt: 1,
      calls: [
        { callId: 'read', status: 'called', effect: 'read' },
        { callId: 'once', status: 'dispatched', effect: 'once' },
        { callId: 'ask', status: 'waiting', requestId: 'req_1' },
      ],
    },
    openRequests: [
      { requestId: 'req_1', sessionId: 's', kind: 'question', status: 'open', ...opened },
    ],
    inputs: [{ messageId: 'msg_user', text: 'do it', status: 'waiting', delivery: 'queue' }],
  })
  const waiting = (await api.call('GET', '/v1/sessions/s/inputs')).body as { data: unknown }
  t.same(
    (data[0] as unknown as { inputs: unknown }).inputs,
    waiting.data,
    'as the inputs are given',
  )
})

t.test(
  'an owner holds its turn while it is registered, in that incarnation, and not lost',
  async (t) => {
    await using api = await openTestApp()
    const { pool } = api.database
    await api.call('POST', '/v1/sessions', { sessionId: 's' })
    const turn = { turnId: 'trn', ownerId: 'own', incarnation: 1 }
    await api.call('POST', '/v1/sessions/s/turns', turn)
    const alive = async (): Promise<unknown> =>
      (await sync(api, [{ sessionId: 's', afterSeq: 2 }])).data.map(
        (entry) => (entry as unknown as { ownerAlive: boolean }).ownerAlive,
      )
    const set = (columns: string) =>
      pool.use((connection) => connection.query(`update stemma.owner set ${columns}`))
    t.same(await alive(), [true])
    await set('incarnation = 2')
    t.same(await alive(), [false], 'it came back as another')
    await set(`incarnation = 1, ended_at = now(), end_reason = 'exited'`)
    t.same(await alive(), [false], 'it has ended')
  },
)

t.test('where a copy cannot be brought up to date, the pages are read anew', async (t) => {
  await using api = await openTestApp()
  const { log } = await sync(api, [{ sessionId: 'none', afterSeq: 0 }])
  const resets = async (sessionId: string, afterSeq: number, more = {}): Promise<unknown> => {
    const [entry] = (await sync(api, [{ sessionId, afterSeq }], more)).data
    t.equal(entry!.followSeq, entry!.headSeq)
    return entry!.messages.reason ?? entry!.messages.changed.length
  }
  await api.call('POST', '/v1/sessions', { sessionId: 'long' })
  for (let n = 0; n < 4; n += 1) {
    const renames = Array.from({ length: 251 }, () => event('session.renamed', { title: 'x' }))
    await append(api, 'long', ...renames)
  }
  t.equal(await resets('long', 5), 0, 'a thousand events are gone through')
  t.equal(await resets('long', 4), 'long', 'one more is too many')
  t.equal(await resets('long', 1_006), 'ahead')
  t.equal(await resets('long', 1_005, { log }), 0)
  t.equal(await resets('long', 1_005, { log: 'another' }), 'other_log')

  await api.call('POST', '/v1/sessions', { sessionId: 'many' })
  await append(api, 'many', ...Array.from({ length: 201 }, (_, n) => note(`msg_${n}`)))
  for (const projected of [false, true]) {
    if (projected) await projectTranscript(api.database.pool, await sidOf(api, 'many'))
    t.equal(await resets('many', 2), 200)
    t.equal(await resets('many', 1), 'long', 'and messages')
  }

  const origin = { system: 'test', sessionId: 'cut' }
  await api.log.execute({
    tenant: 1,
    sessionId: 'cut',
    kind: 'import',
    origin,
    events: [
      event('session.created', { origin }),
      note('kept'),
      event('shell.started', { messageId: 'gone', command: 'ls' }),
      event('revert.committed', {
        lineage: [
          { sessionId: 'cut', fromPlace: 0, throughPlace: 2, asOfSeq: 3, except: [] as string[] },
        ],
      }),
      note('after'),
      event('shell.ended', { messageId: 'gone', output: '', exit: 0 }),
    ],
  })
  t.equal(await resets('cut', 3), 'lineage', 'the transcript was cut')
  const [after] = (await sync(api, [{ sessionId: 'cut', afterSeq: 4 }])).data
  t.match(after, { messages: { changed: [{ messageId: 'after' }], removed: ['gone'] } })
})

t.test('a reply has its limit: first messages are left out, and others still go on', async (t) => {
  await using api = await openTestApp()
  const ids = Array.from({ length: 12 }, (_, n) => `ses_${n}`)
  for (const [n, sessionId] of ids.entries()) {
    await api.call('POST', '/v1/sessions', { sessionId })
    await append(api, sessionId, note('big', 'x'.repeat(1_000_000)))
    if (n % 2) await projectTranscript(api.database.pool, await sidOf(api, sessionId))
  }
  const asked = ids.map((sessionId) => ({ sessionId, afterSeq: 0 }))
  const { data } = await sync(api, [...asked, { sessionId: 'ses_0', afterSeq: 2 }])
  t.same(
    data.map(({ messages }) => messages.reason ?? messages.changed.length),
    [1, 1, 1, 1, 1, 1, 1, 1, 'long', 'long', 'long', 'long', 0],
  )
  for (const sessionId of ids.slice(0, 9)) {
    await api.log.execute({
      tenant: 1,
      sessionId,
      kind: 'admit',
      event: event('input.admitted', {
        messageId: 'msg_big',
        kind: 'prompt',
        text: 'x'.repeat(1_000_000),
        delivery: 'queue',
      }),
    })
  }
  const full = (await sync(api, asked)).data
  t.match(full[8], { error: { code: 'too_large' } }, 'what is open has no room either')
  t.match(full[9], { headSeq: 2, messages: { reason: 'long' } })
})
