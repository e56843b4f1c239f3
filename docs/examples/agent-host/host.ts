import { followWork } from './follow-work.ts'
import { keepAlive } from './keep-alive.ts'
import { runSteps, type Means } from './run-turn.ts'
import type { Registration, Turn } from './shapes.ts'
import { Refused } from './store.ts'
import { Interrupted } from './stop-if-asked.ts'
import { takeOver } from './take-over.ts'
import { takeTurn, type Taken } from './take-turn.ts'

export type HostOptions = Means & {
  readonly owner: Registration
  /** Takes up the work of this project's sessions only. */
  readonly project?: string
  /** Aborted when the host is to leave: it does so after the turn that it runs. */
  readonly leaving: AbortSignal
  readonly say: (text: string) => void
}

/** Registers, and runs the turns that it can take, one after another, until it leaves. */
export const runHost = async (options: HostOptions): Promise<void> => {
  const { store, project, leaving } = options
  const owner = await store.register(options.owner)
  using _ = keepAlive(store, owner, options.owner, options.say)
  for await (const work of followWork(store, leaving, project)) {
    const taken = await takeTurn(store, owner, work)
    if (taken) await runTurn(options, taken)
  }
  await store.leave(owner)
}

/** One turn, from where it is to its end, or until it is not ours any more. */
const runTurn = async ({ say, ...means }: HostOptions, { turn, report }: Taken): Promise<void> => {
  say(`${report ? 'claimed' : 'started'} turn ${turn.turnId} under fence ${turn.fence}`)
  try {
    if (report) {
      for (const { callId, was, now } of report.calls) say(`call ${callId} was ${was}, is ${now}`)
      await takeOver(means, turn, report)
    }
    await runSteps(means, turn)
    say(`ended turn ${turn.turnId}`)
  } catch (error) {
    if (!(error instanceof Interrupted || error instanceof Refused)) throw error
    say(`stopped turn ${turn.turnId}: ${error.message}`)
    // Another has the turn, or it has ended: there is nothing left for us to say of it.
    if (isOver(error)) return
    await endEarly(means, turn, error)
  }
}

const isOver = (error: unknown): boolean =>
  error instanceof Refused && ['fenced', 'turn_settled', 'session_deleted'].includes(error.code)

/** Ends a turn before its time; the store closes what is open, in the same append. */
const endEarly = async ({ store }: Means, turn: Turn, why: Error): Promise<void> => {
  const { turnId, fence } = turn
  const how =
    why instanceof Interrupted
      ? { outcome: 'interrupted' }
      : { outcome: 'failed', error: { kind: 'internal', message: why.message } }
  try {
    await store.append(turn, { type: 'turn.ended', data: { turnId, fence, ...how } })
  } catch (error) {
    if (!isOver(error)) throw error
  }
}
