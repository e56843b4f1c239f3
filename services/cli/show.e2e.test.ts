import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openTestDatabase } from '../../test/harness/database.ts'
import { runCommand } from '../../test/harness/run-command.ts'
import { startServer } from '../../test/harness/server-process.ts'
import { startCommand } from '../../test/harness/start-command.ts'
import { tellSession } from '../../test/harness/told-session.ts'

/** Without its head, which says how the session is and how long ago that was, and without times. */
const bodyOf = (stdout: string): string =>
  stdout
    .split('\n')
    .slice(2)
    .join('\n')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'time')
    .replaceAll(/─{3,}/g, '─')

const told = `
── time ── trn_1 by laptop ─

user
  Set up the database.

build (p/m, attempt 2)
  attempt 1 failed: rate-limit, try again in 20 s; tried again
  I have two questions.
  question Which database? (Postgres, SQLite) → ok
    Postgres
  question Which database? (Postgres, SQLite) → denied
    dismissed by the person
  bash rm -r build → denied
    asks for permission: run (rm -r build)

user, answer by local
  Which database? Postgres

user, answer by local
  run (rm -r build): not allowed
  keep the build

build (p/m)
  bash createdb app → unknown, found out later: ok
  failed: aborted, the turn changed hands

server took the turn over from laptop
  1 call unknown: nobody knows whether it ran
  its step failed

turn completed

── time ── trn_2 by server ─

user
  Now fill it.

build (p/m)
  bash fill → unknown
    nobody knows whether it ran
  failed: aborted, the turn ended before the step

local asked the turn to stop: wrong table

turn interrupted: local asked for it: wrong table

── time ── trn_3 by server ─
`

const openAtEnd = `
build (p/m)
  bash make → dispatched
  question Which database? (Postgres, SQLite) → waiting
  running

── open ─
trn_3 is run by server, who is alive
  bash call_6: running, not to be run twice
  question call_7: waits for an answer
waits for an answer: question req_7: Which database? (Postgres, SQLite)
waits to be taken up: input in_3 (queue): And then⏎the tests.
`

t.test(
  'show tells turns, attempts, answers, closings, take-overs and interruptions, and what is open; --follow tells the same',
  async (t) => {
    await using database = await openTestDatabase()
    await using server = await startServer({ DATABASE_URL: database.url })
    const { url } = server
    const environment = { STEMMA_URL: url }
    await tellSession(url)
    const open = await runCommand(['show', 's'], environment)
    t.same([open.code, open.stderr], [0, ''])
    t.equal(bodyOf(open.stdout), told + openAtEnd)
    const paged = await runCommand(['show', 's'], {
      ...environment,
      STEMMA_MAX_PAGE: '2',
      STEMMA_DEFAULT_PAGE: '2',
    })
    t.equal(bodyOf(paged.stdout), told + openAtEnd, 'over any number of pages')

    await using shown = startCommand(['show', 's', '--follow'], environment)
    await shown.until(({ stdout }) => stdout.includes('trn_3'))
    const post = (path: string, body: unknown): Promise<Response> =>
      fetch(`${url}/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    await post('/sessions/s/turns/trn_3/interrupt', { reason: 'enough' })
    // Told behind the message that is open: the follower is given time to do it wrong.
    await setTimeout(700)
    t.notMatch(shown.stdout(), 'enough')
    const asked = await runCommand(['show', 's'], environment)
    t.match(asked.stdout, 'who is alive\n  local asked it to stop: enough\n')
    // With nobody there to stop, the store ends the turn.
    await post('/owners/server/exited', { incarnation: 1, reason: 'gone' })
    await shown.until(({ stdout }) =>
      stdout.includes('turn interrupted: local asked for it: enough'),
    )
    const { stdout } = await shown.interrupt()
    const whole = await runCommand(['show', 's'], environment)
    const [end, work] = bodyOf(whole.stdout).split('\n── open ─\n')
    t.equal(bodyOf(stdout), end, 'and nothing twice')
    t.equal(work, 'waits to be taken up: input in_3 (queue): And then⏎the tests.\n')
    t.match(end, 'cancelled before anybody answered')
  },
)
