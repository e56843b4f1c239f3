import { setTimeout as sleep } from 'node:timers/promises'
import { runHost } from '../../docs/examples/agent-host/host.ts'
import { openStore } from '../../docs/examples/agent-host/store.ts'
import { openTools } from '../../docs/examples/agent-host/tools.ts'
import type { HostOptions } from './host-process.ts'
import { openTrial } from './host-trial.ts'

/** The example's host as its main.ts composes it, with a trial between it and what it works on. */
const options = JSON.parse(process.argv[2]!) as HostOptions
const { url, ownerId, sessionId, folder, lifetime, stopAt } = options

const say = (text: string): void => console.log(`${ownerId}: ${text}`)
const trial = openTrial(stopAt, say)
/** It has nothing more to do when its session's turn has ended, whoever ended it. */
const leaving = new AbortController()
const leaveAtEnd = async (): Promise<void> => {
  const store = openStore(url)
  for (let seq = 0; !leaving.signal.aborted; await sleep(50)) {
    const events = await store.events(sessionId, seq)
    if (events.some(({ type }) => type === 'turn.ended')) leaving.abort()
    seq = events.at(-1)?.seq ?? seq
  }
}
void leaveAtEnd()
await runHost({
  store: openStore(url, trial.send),
  tools: trial.around(await openTools(folder)),
  owner: lifetime === 'lease' ? { ownerId, lifetime, ttlMs: 700 } : { ownerId, lifetime },
  project: sessionId,
  leaving: leaving.signal,
  say,
})
