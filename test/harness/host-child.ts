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
await runHost({
  store: openStore(url, trial.send),
  tools: trial.around(await openTools(folder)),
  owner: lifetime === 'lease' ? { ownerId, lifetime, ttlMs: 700 } : { ownerId, lifetime },
  sessionId,
  leaving: new AbortController().signal,
  untilIdle: true,
  say,
})
