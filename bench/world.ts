import { cpus, loadavg, totalmem } from 'node:os'
import { migrate } from '../services/database/migrate.ts'
import { openPool } from '../services/database/pool.ts'
import { startServer } from './server.ts'

export type Options = {
  readonly rounds: number
  readonly milliseconds: number
  /** How long an old snapshot is held. */
  readonly holdMilliseconds: number
  /** Events of the long session. */
  readonly longSession: number
}

/** What every bench runs in: one PostgreSQL server of the run's own. */
export type World = Disposable & {
  readonly options: Options
  /** The url of a new database, with Stemma's schema or empty. */
  readonly database: (content: 'migrated' | 'empty') => Promise<string>
  /** Machine, versions and how busy it is, in one line each. */
  readonly describe: () => readonly string[]
}

export const openWorld = async (options: Options): Promise<World> => {
  const server = await startServer()
  let databases = 0
  const database: World['database'] = async (content) => {
    databases += 1
    const url = new URL(server.url)
    await using admin = openPool({ url: url.href, max: 1, applicationName: 'stemma-bench' })
    await admin.use((c) => c.query(`create database bench_${databases} template template0`))
    url.pathname = `/bench_${databases}`
    if (content === 'migrated') {
      await using pool = openPool({ url: url.href, max: 1, applicationName: 'stemma-bench' })
      await migrate(pool)
    }
    return url.href
  }
  return {
    options,
    database,
    describe: () => [
      `${cpus()[0]?.model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; load ${loadavg()
        .map((n) => n.toFixed(1))
        .join(' ')}`,
      `Node ${process.versions.node}, PostgreSQL ${server.version}; ${options.rounds} rounds of ${options.milliseconds} ms`,
    ],
    [Symbol.dispose]: () => server[Symbol.dispose](),
  }
}
