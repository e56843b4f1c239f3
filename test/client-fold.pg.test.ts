import fc from 'fast-check'
import t, { type Test } from 'tap'
import { openTranscript, type OpenTranscript } from '../client/open-transcript.ts'
import type { TranscriptPage } from '../client/transcript-page.ts'
import type { Envelope } from '../schema/events/envelope.ts'
import { splitEvents } from '../services/adapters/split-events.ts'
import { translateOpencodeV2 } from '../services/adapters/opencode-v2/translate.ts'
import type { Act } from '../services/log/command.ts'
import { projectTranscript } from '../services/projector/project-transcript.ts'
import { readRecordings } from './harness/opencode-messages.ts'
import { randomImport } from './harness/random-import.ts'
import { randomSession } from './harness/random-session.ts'
import { event, prompt, rehearse, startTurn } from './harness/rehearsal.ts'
import { seeded } from './harness/seeded.ts'
import { openTestApp, type TestApp } from './harness/test-app.ts'

t.setTimeout(300_000)

type Page = TranscriptPage & { readonly cursor: { readonly next: string | null } }
type Followed = {
  readonly transcript: OpenTranscript
  readonly includeHidden: boolean
  readonly name: string
}

/** Transcripts of one session, opened at any time, that are held against the server's own pages. */
const followers = (t: Test, { call }: TestApp, sessionId: string, random: () => number) => {
  const all: Followed[] = []
  const pick = (n: number): number => Math.floor(random() * n)
  const get = async <T>(path: string): Promise<T> => {
    const answer = await call('GET', `/v1/sessions/${sessionId}/${path}`)
    if (answer.status !== 200) throw new Error(answer.text)
    return JSON.parse(answer.text) as T
  }
  const open = async (): Promise<void> => {
    const includeHidden = random() < 0.3
    const hidden = includeHidden ? '&include=hidden' : ''
    const limit = [1, 2, 5, 500][pick(4)]!
    const order = limit === 500 && random() < 0.5 ? 'asc' : 'desc'
    const path = `messages?limit=${limit}&order=${order}${hidden}`
    const page = await get<Page>(path)
    const transcript = openTranscript(page)
    all.push({ transcript, includeHidden, name: `${path} of ${page.asOfSeq}` })
    const next = page.cursor.next
    if (next === null || random() < 0.3) return
    const older = await get<Page>(`${path}&cursor=${encodeURIComponent(next)}`)
    t.ok(transcript.addOlder(older), 'with an older page')
  }
  const check = async (): Promise<void> => {
    const behind = Math.min(...all.map(({ transcript }) => transcript.asOfSeq))
    const events: Envelope[] = []
    for (let more = true; more && Number.isFinite(behind);) {
      const afterSeq = events.at(-1)?.seq ?? behind
      const page = await get<{ data: Envelope[]; asOfSeq: number }>(`events?afterSeq=${afterSeq}`)
      events.push(...page.data)
      more = (events.at(-1)?.seq ?? behind) < page.asOfSeq
    }
    const pages = {
      shown: await get<Page>('messages?limit=500'),
      hidden: await get<Page>('messages?limit=500&include=hidden'),
    }
    for (const { transcript, includeHidden, name } of all) {
      for (const event of events) transcript.apply(event)
      const page = includeHidden ? pages.hidden : pages.shown
      const from = transcript.messages[0]?.seq ?? Infinity
      t.equal(transcript.asOfSeq, page.asOfSeq)
      t.strictSame(
        JSON.parse(JSON.stringify(transcript.messages)),
        page.data.filter(({ seq }) => seq >= from),
        `${sessionId}: ${name} followed to ${page.asOfSeq}`,
      )
    }
  }
  return { open, check, all }
}

const project = async ({ database }: TestApp, sessionId: string): Promise<void> => {
  const [session] = await database.pool.use((connection) =>
    connection.query<{ sid: number }>('select sid from stemma.session where session_id = $1', [
      sessionId,
    ]),
  )
  await projectTranscript(database.pool, session!.sid)
}

const play = async (
  t: Test,
  app: TestApp,
  sessionId: string,
  acts: readonly Act[],
  random: () => number,
): Promise<void> => {
  const { open, check, all } = followers(t, app, sessionId, random)
  for (const [index, act] of acts.entries()) {
    await app.log.execute({ tenant: 1, sessionId, ...act })
    if (index === 0 || random() < 0.12) await open()
    if (random() < 0.1) await project(app, sessionId)
    if (random() < 0.15) await check()
  }
  await check()
  t.ok(all.length > 0)
}

t.test(
  "page + events = page: a transcript that follows a session says what the server's page says",
  async (t) => {
    await using app = await openTestApp()
    let sessions = 0
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 3 }),
        fc.boolean(),
        async (seed, turns, imported) => {
          const random = seeded(seed)
          const acts = imported ? randomImport(random, turns) : randomSession(random, turns).acts
          await play(t, app, `ses_${(sessions += 1)}`, acts, random)
        },
      ),
      { numRuns: 6 },
    )
    t.same(app.reported, [])
  },
)

t.test(
  'a prompt that waited when the page was read is whole when it is delivered, and no other input is a message',
  async (t) => {
    await using app = await openTestApp()
    const rehearsal = rehearse()
    const run = async (...acts: Act[]): Promise<void> => {
      for (const act of acts) {
        rehearsal.accept(act)
        await app.log.execute({ tenant: 1, sessionId: 'ses_1', ...act })
      }
    }
    const compact = { messageId: 'msg_3', kind: 'compact', delivery: 'queue' } as const
    await run(
      { kind: 'create', event: event('session.created', {}) },
      { kind: 'admit', event: prompt('msg_1') },
    )
    await project(app, 'ses_1')
    await run(
      { kind: 'admit', event: prompt('msg_2') },
      { kind: 'admit', event: event('input.admitted', compact) },
      { kind: 'admit', event: prompt('msg_4') },
      { kind: 'cancel-input', messageId: 'msg_4', eventId: 'evt_cancel' },
    )
    const { open, check, all } = followers(t, app, 'ses_1', seeded(1))
    await open()
    t.same(all[0]!.transcript.messages, [], 'what waits is no message')
    await run(startTurn('trn_1', ['msg_3', 'msg_2', 'msg_1']))
    await check()
    t.match(all[0]!.transcript.messages, [
      { messageId: 'msg_2', type: 'user', origin: 'input', turnId: 'trn_1', text: 'do it' },
      { messageId: 'msg_1', type: 'user', origin: 'input', turnId: 'trn_1', text: 'do it' },
    ])
    t.equal(all[0]!.transcript.messages.length, 2)
  },
)

t.test('a page of an earlier seq, or of the middle, says nothing to go on from', async (t) => {
  await using app = await openTestApp()
  const { acts } = randomSession(seeded(4), 3)
  for (const act of acts) await app.log.execute({ tenant: 1, sessionId: 'ses_1', ...act })
  const read = async (query: string): Promise<Page> =>
    (await app.call('GET', `/v1/sessions/ses_1/messages?${query}`)).body
  const { asOfSeq, cursor } = await read('order=desc&limit=2')
  const middle = await read(`order=desc&limit=2&cursor=${encodeURIComponent(cursor.next!)}`)
  t.throws(() => openTranscript(middle), /does not reach the end/)
  const first = await read('limit=2')
  t.throws(() => openTranscript(first), /does not reach the end/)
  const last = await read(`limit=500&atSeq=${asOfSeq}`)
  t.same(openTranscript(last).messages, last.data)
  const earlier = await read(`limit=500&atSeq=${asOfSeq - 1}`)
  t.throws(() => openTranscript(earlier), /not of the head/)
})

t.test(
  'page + events = page for every recording, also when its closings are replaced by what came later',
  async (t) => {
    await using app = await openTestApp()
    for (const [n, recording] of readRecordings().entries()) {
      const copies = [0.3, 0.6, 1].map((part) => ({
        ...recording,
        history: recording.history.slice(0, Math.floor(recording.history.length * part)),
      }))
      const { open, check } = followers(t, app, recording.session.id, seeded(n + 1))
      for (const copy of copies) {
        const { origin, sessionId, events } = translateOpencodeV2(copy)
        for (const batch of splitEvents(events, { events: 40, bytes: 8_000_000 })) {
          const answer = await app.call('POST', '/v1/imports', { origin, sessionId, events: batch })
          t.equal(answer.status, 200, answer.text.slice(0, 500))
          for (let opened = 0; opened < 2; opened += 1) await open()
        }
        if (n % 2 === 0) await project(app, recording.session.id)
        await check()
      }
    }
    t.same(app.reported, [])
  },
)
