import t from 'tap'
import { fold } from '../../projections/transcript/fold.ts'
import { toMessage, type Message } from '../../projections/transcript/to-message.ts'
import { emptyView } from '../../projections/transcript/view.ts'
import { openTestDatabase, type TestDatabase } from '../../test/harness/database.ts'
import { randomSession } from '../../test/harness/random-session.ts'
import { event, rehearse, type Rehearsal } from '../../test/harness/rehearsal.ts'
import { seeded } from '../../test/harness/seeded.ts'
import type { Refusal } from '../../schema/errors.ts'
import { openLog, type Log } from '../log/open-log.ts'
import { readEvents, storedEvent } from '../log/read-events.ts'
import { readSession } from '../log/load-session.ts'
import { projectTranscript } from '../projector/project-transcript.ts'
import { readContext } from './read-context.ts'
import { readInputs } from './read-inputs.ts'
import { readMessage, readMessages } from './read-messages.ts'
import { readTurn } from './read-turn.ts'
import { readSessionInfo } from './session.ts'

const target = { tenant: 1, sessionId: 'ses_1' }

const play = async (log: Log, rehearsal: Rehearsal): Promise<void> => {
  for (const act of rehearsal.acts) await log.execute({ ...target, ...act })
}

/** The transcript as a plain fold of the log gives it. */
const modelAt = async ({ pool }: TestDatabase, atSeq: number): Promise<Message[]> => {
  const session = await pool.use((connection) => readSession(connection, target))
  const rows = await pool.use((c) =>
    readEvents(c, session!.sid, { afterSeq: 0, throughSeq: atSeq, limit: 10_000 }),
  )
  const view = emptyView()
  for (const row of rows) fold(view, storedEvent(row))
  return [...view.messages.values()]
    .filter((row) => row.place !== null)
    .toSorted((a, b) => a.place! - b.place!)
    .map((row) =>
      toMessage(
        'ses_1',
        row,
        [...view.parts.values()].filter((part) => part.messageId === row.messageId),
      ),
    )
}

const walk = async (
  { pool }: TestDatabase,
  order: 'asc' | 'desc',
  limit: number,
  atSeq?: number,
): Promise<Message[]> => {
  const all: Message[] = []
  for (let after: number | undefined, first = true; first || after !== undefined; first = false) {
    const page = await readMessages(pool, target, {
      limit,
      order,
      ...(after !== undefined && { after }),
      ...(atSeq !== undefined && { atSeq }),
    })
    all.push(...page.data)
    after = page.next
  }
  return all
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test(
  'pages of any size and order say what a fold of the log says, wherever the projector stands',
  async (t) => {
    for (const seed of [1, 2, 3, 4]) {
      await using database = await openTestDatabase()
      const log = openLog({ pool: database.pool, report: () => {} })
      const rehearsal = randomSession(seeded(seed), 3)
      const half = Math.floor(rehearsal.acts.length / 2)
      const session = () => database.pool.use((connection) => readSession(connection, target))
      await play(log, { ...rehearsal, acts: rehearsal.acts.slice(0, half) })
      for (const stage of ['never projected', 'half projected', 'all projected']) {
        if (stage === 'half projected') {
          await projectTranscript(database.pool, (await session())!.sid)
          await play(log, { ...rehearsal, acts: rehearsal.acts.slice(half) })
        }
        if (stage === 'all projected')
          await projectTranscript(database.pool, (await session())!.sid)
        const head = (await session())!.headSeq
        const model = json(await modelAt(database, head)) as Message[]
        for (const limit of [1, 3, 50]) {
          t.same(json(await walk(database, 'asc', limit)), model, `${stage}, ascending by ${limit}`)
          t.same(
            json(await walk(database, 'desc', limit)),
            model.toReversed(),
            `${stage}, descending by ${limit}`,
          )
        }
        for (let atSeq = 0; atSeq <= head; atSeq += 3) {
          t.same(
            json(await walk(database, 'asc', 4, atSeq)),
            json(await modelAt(database, atSeq)),
            `${stage}, as it was at ${atSeq} of ${head}`,
          )
        }
      }
      await log[Symbol.asyncDispose]()
    }
  },
)

t.test(
  'case 39: a projection that is behind by more than a page comes up with all of it, and reads do not wait for it',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    const rehearsal = rehearse()
    rehearsal.accept({ kind: 'create', event: event('session.created', {}) })
    for (let n = 0; n < 3; n += 1) {
      const notes = Array.from({ length: 400 }, (_, i) =>
        event('note.added', { messageId: `msg_${n}_${i}`, role: 'system', text: 'x' }),
      )
      rehearsal.accept({ kind: 'append', events: notes })
    }
    await play(log, rehearsal)
    const model = json(await modelAt(database, 1201))
    t.same(json(await walk(database, 'asc', 500)), model)
    const { sid } = (await pool.use((connection) => readSession(connection, target)))!
    const chunks: number[] = []
    for (let done = false; !done;) {
      const result = await projectTranscript(pool, sid)
      chunks.push(result.seq)
      done = result.done
    }
    t.same(chunks, [500, 1000, 1201])
    t.same(json(await walk(database, 'asc', 500)), model)
    await log[Symbol.asyncDispose]()
  },
)

t.test(
  'a poison event stops its own session only: reads end before it and say so, until the build changes',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    for (const sessionId of ['ses_1', 'ses_2']) {
      await log.execute({
        tenant: 1,
        sessionId,
        kind: 'create',
        event: event('session.created', {}),
      })
      await log.execute({
        tenant: 1,
        sessionId,
        kind: 'append',
        events: [event('note.added', { messageId: 'msg_1', role: 'system', text: 'x' })],
      })
    }
    const { sid } = (await pool.use((connection) => readSession(connection, target)))!
    // As a faulty writer would have left it: an event that the fold cannot read.
    await pool.use((c) =>
      c.query(
        `insert into stemma.event select sid, 3, tenant, 1000, 'evt_poison', 'input.delivered', 1, 'null', '{}', now(), now() from stemma.session where sid = $1`,
        [sid],
      ),
    )
    await pool.use((c) => c.query('update stemma.session set head = 3 where sid = $1', [sid]))
    for (const stage of ['read', 'projected']) {
      if (stage === 'projected')
        t.match(await projectTranscript(pool, sid), { done: true, stalled: { seq: 3 } })
      const page = await readMessages(pool, target, { limit: 10, order: 'asc' })
      t.match(page, { asOfSeq: 2, stalled: { seq: 3, code: 'TypeError' } }, stage)
      t.equal(page.data.length, 1)
      t.equal(page.fold, undefined, 'and no fold is to go on from there')
    }
    t.match(
      await projectTranscript(pool, sid),
      { done: true },
      'it is not tried again by this build',
    )
    const [row] = await pool.use((c) =>
      c.query('select tries from stemma.transcript_progress where sid = $1', [sid]),
    )
    t.same(row, { tries: 1 }, 'and the try was counted before it was made')
    await pool.use((c) =>
      c.query(`update stemma.transcript_progress set tried_build = 'an older one'`),
    )
    t.match(await projectTranscript(pool, sid), { stalled: { seq: 3 } }, 'but by another build')
    await pool.use((c) =>
      c.query('update stemma.transcript_progress set tries = 20, stalled_seq = null'),
    )
    t.match(
      await projectTranscript(pool, sid),
      { done: true, stalled: { seq: 3, code: 'crashed' } },
      'and not for ever by one that it takes down',
    )
    const other = await readMessages(
      pool,
      { ...target, sessionId: 'ses_2' },
      { limit: 10, order: 'asc' },
    )
    t.equal(other.stalled, undefined)
    await log[Symbol.asyncDispose]()
  },
)

t.test(
  'one message, the context, a turn and the waiting inputs are read, and what is not there is refused by name',
  async (t) => {
    await using database = await openTestDatabase()
    const { pool } = database
    const log = openLog({ pool, report: () => {} })
    const rehearsal = randomSession(seeded(11), 5)
    await play(log, rehearsal)
    const messages = await walk(database, 'asc', 50)
    for (const message of messages) {
      const one = await readMessage(pool, target, message.messageId)
      t.equal(one.data.seq, message.seq)
    }
    const context = await readContext(pool, target)
    const calls = new Set<string>()
    for (const entry of context.entries) {
      if (entry.role === 'assistant')
        for (const part of entry.parts) if (part.type === 'call') calls.add(part.callId)
      if (entry.role === 'tool') t.ok(calls.delete(entry.callId), 'a result follows its call')
    }
    t.equal(calls.size, 0, 'no call is without its result')
    const started = rehearsal.log.filter((e) => e.type === 'turn.started')
    for (const { data, seq } of started) {
      const turn = await readTurn(pool, target, (data as { turnId: string }).turnId)
      t.match(turn.data, { status: 'ended', startedSeq: seq })
    }
    t.same(
      (await readInputs(pool, target)).data.map((input) => input.messageId),
      Object.keys(rehearsal.session.state.inputs ?? {}),
    )
    t.match(await readSessionInfo(pool, target), {
      status: 'idle',
      headSeq: rehearsal.session.head,
    })
    const codes = await Promise.all(
      [
        readMessage(pool, target, 'msg_no'),
        readTurn(pool, target, 'trn_no'),
        readMessages(pool, { ...target, sessionId: 'ses_no' }, { limit: 1, order: 'asc' }),
        readMessages(pool, { ...target, tenant: 2 }, { limit: 1, order: 'asc' }),
        readMessages(pool, target, { limit: 1, order: 'asc', atSeq: 10_000 }),
      ].map((read) =>
        read.then(
          () => 'read',
          (error: Refusal) => error.code,
        ),
      ),
    )
    t.same(codes, [
      'message_not_found',
      'turn_not_found',
      'session_not_found',
      'session_not_found',
      'invalid_query',
    ])
    await log.execute({ ...target, kind: 'delete', eventId: 'evt_delete' })
    await t.rejects(readSessionInfo(pool, target), { code: 'session_deleted' })
    await log[Symbol.asyncDispose]()
  },
)
