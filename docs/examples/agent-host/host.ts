import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { findWork } from './find-work.ts'
import { runSteps, type Means } from './run-turn.ts'
import { openStore, Refused, type Owner, type Turn } from './store.ts'
import { takeOver } from './take-over.ts'
import { takeTurn, type Taken } from './take-turn.ts'
import { openTools } from './tools.ts'
import { openTrial } from './trial.ts'

const { values: given } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:4600' },
    session: { type: 'string', default: 'ses_1' },
    owner: { type: 'string', default: `host-${process.pid}` },
    folder: { type: 'string', default: '.' },
    /** `process`: alive until a supervisor reports its end; `lease`: as long as it sends heartbeats. */
    lifetime: { type: 'string', default: 'lease' },
    ttl: { type: 'string', default: '10000' },
    /** Leaves when the session has no work. */
    'until-idle': { type: 'boolean', default: false },
    'stop-at': { type: 'string', default: '' },
  },
})
const say = (text: string): void => console.log(`${given.owner}: ${text}`)

/** Registers, and looks for work until it is told to leave. */
const main = async (): Promise<void> => {
  const trial = openTrial(given['stop-at'], say)
  const store = openStore(given.url, trial.send)
  const tools = trial.around(await openTools(given.folder))
  const isLease = given.lifetime === 'lease'
  const ttlMs = Number(given.ttl)
  const owner = await store.register({
    ownerId: given.owner,
    ...(isLease ? { lifetime: 'lease', ttlMs } : { lifetime: 'process' }),
  })
  const leaving = new AbortController()
  process.once('SIGINT', () => leaving.abort())
  // One heartbeat covers all turns of an owner.
  const beats = isLease ? setInterval(() => void beat(owner), ttlMs / 3) : undefined
  const beat = (self: Owner) => store.heartbeat(self).catch((error: Error) => say(error.message))

  while (!leaving.signal.aborted) {
    const work = await findWork(store, given.session)
    const taken = work && (await takeTurn(store, owner, work))
    if (taken) await runTurn({ store, tools }, taken)
    else if (!work && given['until-idle']) break
    else await sleep(250, undefined, { signal: leaving.signal }).catch(() => {})
  }
  clearInterval(beats)
  await store.leave(owner)
}

/** One turn, from where it is to its end, or until it is not ours any more. */
const runTurn = async (means: Means, { turn, report }: Taken): Promise<void> => {
  say(`${report ? 'claimed' : 'started'} turn ${turn.turnId} under fence ${turn.fence}`)
  try {
    if (report) {
      for (const { callId, was, now } of report.calls) say(`call ${callId} was ${was}, is ${now}`)
      await takeOver(means, turn, report)
    }
    await runSteps(means, turn)
    say(`ended turn ${turn.turnId}`)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    say(`stopped turn ${turn.turnId}: ${error.message}`)
    // Fenced, or ended: whatever it was that we wanted to say of it is not ours to say.
    if (!isOver.has(error.code)) await failTurn(means, turn, error)
  }
}

const isOver: ReadonlySet<string> = new Set(['fenced', 'turn_settled', 'session_deleted'])

const failTurn = async ({ store }: Means, turn: Turn, { message }: Error): Promise<void> => {
  const { turnId, fence } = turn
  const error = { kind: 'internal', message }
  await store.append(turn, {
    type: 'turn.ended',
    data: { turnId, outcome: 'failed', fence, error },
  })
}

await main()
