import { tokenPrincipal } from '../api/access/authenticate.ts'
import { openTokens, type Tokens } from '../api/access/open-tokens.ts'
import { buildApp } from '../api/build-app.ts'
import { isLoopback } from '../api/plugins/principal.ts'
import { openPostgresBus } from '../bus/postgres-bus.ts'
import { migrate } from '../database/migrate.ts'
import { openPool } from '../database/pool.ts'
import { openLive } from '../live/open-live.ts'
import { openLog } from '../log/open-log.ts'
import { startDeadlines } from '../deadlines/start-deadlines.ts'
import { startPulse } from '../owners/start-pulse.ts'
import { startProjector } from '../projector/start-projector.ts'
import { openFeeds } from '../streams/feeds.ts'
import { readSettings, type Settings } from '../settings.ts'
import { keepEmbedded, type KeptEmbedded } from './keep-embedded.ts'

/**
 * `stemma serve`: the service, on the database that DATABASE_URL names or on an embedded one of its
 * own. Gives the exit code when it has been stopped by SIGINT or SIGTERM; a second signal exits at
 * once.
 */
export const runServe = async (argv: string[]): Promise<number> => {
  if (argv.length > 0) throw new Error('stemma serve takes settings from the environment only')
  const settings = readSettings()
  if (settings.tokensFile === undefined && !isLoopback(settings.host)) {
    say(
      `stemma serves other machines only with tokens: STEMMA_HOST=${settings.host} is refused ` +
        'without STEMMA_TOKENS_FILE ("stemma token" makes entries for it)',
    )
    return 1
  }
  using tokens =
    settings.tokensFile === undefined
      ? undefined
      : await openTokens({ file: settings.tokensFile, say: report })
  const stopped = untilSignal()
  const embedded = settings.databaseUrl === undefined ? await openEmbedded(settings) : undefined
  try {
    const url = settings.databaseUrl ?? embedded!.url
    await serveOn(settings, { url, embedded, tokens }, stopped)
  } finally {
    const left = await embedded?.stop()
    if (left === 'left running')
      say('PostgreSQL runs on, for the other servers on it; the last one stops it')
  }
  return 0
}

type ServedFrom = {
  readonly url: string
  readonly embedded: KeptEmbedded | undefined
  readonly tokens: Tokens | undefined
}

/** People first, background work after them, the database last. */
const serveOn = async (
  settings: Settings,
  { url, embedded, tokens }: ServedFrom,
  stopped: Promise<NodeJS.Signals>,
): Promise<void> => {
  if (!embedded) say(`database   ${whereOf(url)}`)
  await using pool = openPool({
    url,
    max: settings.poolSize,
    applicationName: 'stemma-server',
    acquireTimeoutMs: settings.acquireTimeoutMs,
    statementTimeoutMs: settings.statementTimeoutMs,
  })
  const { from, to } = await migrate(pool)
  if (from !== to) say(`schema     brought from version ${from} to ${to}`)
  await using log = openLog({ pool, report })
  await using background = new AsyncDisposableStack()
  background.use(startPulse({ pool, report }))
  background.use(startDeadlines({ pool, log, report }))
  await using projector = startProjector({ pool, log, report })
  await using bus = openPostgresBus({ url, pool, report })
  await using feeds = openFeeds({ pool, log, bus, report })
  await using live = openLive({ pool, log, feeds, report })
  const app = buildApp({
    pool,
    log,
    feeds,
    live,
    settings,
    report,
    onLongTail: (sid) => projector.ask(sid),
    ...(tokens && { authenticate: tokenPrincipal({ pool, settings, tokens }) }),
  })
  try {
    // Who reads the line that says so may ask /readyz at once.
    await Promise.race([log.horizon.ready, stopped])
    await app.listen({ host: settings.host, port: settings.port })
    greet(app.listeningOrigin, settings, embedded)
    const signal = await stopped
    say(`${signal}: stopping`)
  } finally {
    // While requests drain heartbeats are refused already: nothing may say that they can be taken.
    await background.disposeAsync()
    await app.close()
  }
}

const openEmbedded = async (settings: Settings): Promise<KeptEmbedded> => {
  const embedded = await keepEmbedded({ dataDir: settings.dataDir, log: say })
  const how = embedded.joined ? 'found running' : 'started'
  say(`database   PostgreSQL ${embedded.version}, ${how}, on port ${embedded.port}`)
  say(`data       ${embedded.dataDir}`)
  return embedded
}

const greet = (origin: string, settings: Settings, embedded: KeptEmbedded | undefined): void => {
  say(`join       DATABASE_URL=${embedded?.url ?? '(the same)'} STEMMA_PORT=0 npm start`)
  // The command line finds the usual address by itself.
  const at = origin === settings.url ? '' : `STEMMA_URL=${origin} `
  const withTokens = settings.tokensFile !== undefined
  const stemma = `${at}${withTokens ? 'STEMMA_TOKEN=… ' : ''}npx stemma`
  say(`try        ${stemma} import test/recordings/opencode-v2/*.json`)
  say(`           ${stemma} sessions`)
  say(`           curl ${withTokens ? '-H "Authorization: Bearer …" ' : ''}${origin}/v1/sessions`)
  say(`stop       Ctrl-C`)
  say(`stemma listening on ${origin}`)
}

/** Of a database's URL what may be shown. */
const whereOf = (url: string): string => {
  const { hostname, port, pathname } = new URL(url)
  return `PostgreSQL at ${hostname}${port === '' ? '' : `:${port}`}${pathname}`
}

const untilSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    let stopping = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (stopping) process.exit(1)
        stopping = true
        resolve(signal)
      })
    }
  })

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const report = (problem: unknown): void => void process.stderr.write(`${textOf(problem)}\n`)

/** With what caused it, and without what it was about: payloads are in no message. */
const textOf = (problem: unknown): string => {
  if (!(problem instanceof Error)) return String(problem)
  const text = problem.stack ?? problem.message
  return problem.cause === undefined ? text : `${text}\ncaused by: ${textOf(problem.cause)}`
}
