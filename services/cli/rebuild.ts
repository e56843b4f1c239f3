import { migrate } from '../database/migrate.ts'
import type { Pool } from '../database/pool.ts'
import { differenceText } from '../projector/rebuild/verify-ranges.ts'
import {
  discardRebuild,
  type RebuildOptions,
  type RebuildResult,
} from '../projector/rebuild/run-rebuild.ts'
import { rebuildThroughOutages } from '../projector/rebuild/through-outages.ts'
import { readSettings } from '../settings.ts'
import { followRebuild } from './follow-rebuild.ts'
import { renderRebuild } from './render-rebuild.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { visibleLine } from './visible.ts'
import { withDatabase } from './with-database.ts'
import { jsonText, writeOut } from './write-out.ts'

const usage = `stemma rebuild transcript [options]

Computes the transcript anew from the log, beside the one that is live, and makes it live. Servers
go on reading and writing meanwhile. What is done is kept in the database: after Ctrl-C or a crash
the same command goes on, and several of it share the work.

  --verify         compare the rebuilt rows with the live ones, session by session, before they
                   are made live; any difference is named, and nothing is made live
  --verify-only    compare, and make nothing live
  --keep           do not remove the rows of the generation that was live
  --restart        discard what an unfinished rebuild has written, and begin again
  --workers <n>    sessions that are worked on at once (default 4)
  --json           print progress and result as JSON, one object a line

It opens the database itself: DATABASE_URL, or the embedded one in STEMMA_DATA_DIR.
`

const flag = { type: 'boolean' } as const

/** Exit codes: 0 done, 1 the rows differ or it failed, 130 stopped by a signal. */
export const runRebuildCommand = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    {
      verify: flag,
      'verify-only': flag,
      keep: flag,
      restart: flag,
      workers: { type: 'string' },
      json: flag,
    },
    usage,
  )
  if (!parsed) return 0
  const { values, positionals } = parsed
  const { verify = false, keep = false, restart = false, json = false, workers = '4' } = values
  if (positionals.length !== 1) throw new UsageError('takes the name of a projection', usage)
  if (positionals[0] !== 'transcript') {
    throw new UsageError('only the transcript can be rebuilt', usage)
  }
  if (!/^[1-9]\d?$/.test(workers)) throw new UsageError('--workers takes 1 to 99', usage)
  const settings = readSettings()
  const stopping = stopOnSignal()
  const options = {
    verify,
    keep,
    verifyOnly: values['verify-only'] ?? false,
    workers: Number(workers),
    signal: stopping.signal,
  }
  const database = {
    max: options.workers + 2,
    applicationName: 'stemma-rebuild',
    say: (line: string): void => void process.stderr.write(`${line}\n`),
  }
  const result = await withDatabase(settings, database, async (pool) => {
    await migrate(pool)
    if (restart) await discardRebuild(pool, stopping.signal)
    return follow(pool, options, json)
  })
  await writeOut(json ? `${jsonText(result, 0)}\n` : `${visibleLine(sentence(result))}\n`)
  if (result.outcome === 'stopped') return 130
  return result.outcome === 'differs' ? 1 : 0
}

/** Runs the rebuild and shows how it stands: rewritten on a terminal, else a line now and then. */
const follow = async (
  pool: Pool,
  options: RebuildOptions,
  json: boolean,
): Promise<RebuildResult> => {
  const ended = new AbortController()
  const show = json ? showJson : showText()
  let following: Promise<void> | undefined
  try {
    return await rebuildThroughOutages(pool, {
      ...options,
      onOpened: ({ generation }) => {
        following = followRebuild(pool, generation, ended.signal, show.progress)
      },
      onDifference: (difference) => show.difference(differenceText(difference)),
    })
  } finally {
    ended.abort()
    await following
    show.end()
  }
}

type Show = {
  readonly progress: Parameters<typeof followRebuild>[3]
  readonly difference: (text: string) => void
  readonly end: () => void
}

const showJson: Show = {
  progress: (progress, eventsPerSecond) =>
    void process.stdout.write(
      `${jsonText({ ...progress, eventsPerSecond: Math.round(eventsPerSecond) }, 0)}\n`,
    ),
  difference: (difference) => void process.stdout.write(`${jsonText({ difference }, 0)}\n`),
  end: () => {},
}

const lineEveryMs = 10_000

const showText = (): Show => {
  const { stderr } = process
  let shownAt = -Infinity
  const clear = stderr.isTTY ? '\r\u001b[K' : ''
  return {
    progress: (progress, eventsPerSecond) => {
      const line = renderRebuild(progress, eventsPerSecond)
      if (stderr.isTTY) stderr.write(`${clear}${line}`)
      else if (performance.now() - shownAt >= lineEveryMs) {
        shownAt = performance.now()
        stderr.write(`${line}\n`)
      }
    },
    difference: (text) => void stderr.write(`${clear}${visibleLine(text)}\n`),
    end: () => void stderr.write(clear),
  }
}

const sentence = ({ outcome, generation, difference }: RebuildResult): string =>
  ({
    live: `generation ${generation} of the transcript is live`,
    checked: 'the rebuilt rows are the live ones: no difference',
    stopped: 'stopped: the same command goes on from here',
    differs: `nothing was made live: ${difference}`,
  })[outcome]

/** The first signal stops after the chunk at hand, the second at once. */
const stopOnSignal = (): AbortController => {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(130)
      stopping.abort()
    })
  }
  return stopping
}
