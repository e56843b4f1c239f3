/**
 * The service as a process of its own, with Stemma's log or a stand-in behind the same routes. Says
 * its port. Asked anything, it settles: collects its garbage, if it was started so that it can.
 * Arguments: url of a migrated database, kind.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from '../../services/api/build-app.ts'
import { openPool } from '../../services/database/pool.ts'
import { openLog } from '../../services/log/open-log.ts'
import { startProjector } from '../../services/projector/start-projector.ts'
import { readSettings } from '../../services/settings.ts'
import { openStreams } from '../../test/harness/streams.ts'
import { answer } from '../child.ts'
import { openStandIn } from './stand-in-log.ts'

const [url = '', kind = 'stemma'] = process.argv.slice(2)
const settings = readSettings({})
const report = (problem: unknown): void => console.error(problem)
const pool = openPool({ url, max: settings.poolSize, applicationName: 'stemma-bench' })
const log =
  kind === 'insert' || kind === 'nothing' ? await openStandIn(kind, url) : openLog({ pool, report })
// As `stemma serve` does: transcripts and the list are written beside the appends.
if (kind === 'stemma') startProjector({ pool, log, report })
const streams = openStreams({ url, pool, log, report })
const app = buildApp({ ...streams, pool, log, settings, report })
await app.listen({ host: '127.0.0.1', port: 0 })

const settle = async (): Promise<void> => {
  for (let n = 0; n < 5; n += 1) {
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    await sleep(200)
  }
}
answer(Number(new URL(app.listeningOrigin).port), async () => {
  await settle()
  return 'settled'
})
