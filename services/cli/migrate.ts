import { startEmbedded } from '../database/embedded/start-embedded.ts'
import { migrate } from '../database/migrate.ts'
import { openPool } from '../database/pool.ts'
import { readSettings } from '../settings.ts'

/** `stemma migrate`: brings the database to this build's schema, and does nothing else. */
export const runMigrate = async (argv: string[]): Promise<number> => {
  if (argv.length > 0) throw new Error('stemma migrate takes settings from the environment only')
  const settings = readSettings()
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const embedded =
    settings.databaseUrl === undefined
      ? await startEmbedded({ dataDir: settings.dataDir, log: say })
      : undefined
  try {
    await using pool = openPool({
      url: settings.databaseUrl ?? embedded!.url,
      max: 2,
      applicationName: 'stemma-migrate',
    })
    const { from, to } = await migrate(pool)
    say(
      from === to
        ? `the schema is at version ${to}`
        : `brought the schema from version ${from} to ${to}`,
    )
  } finally {
    await embedded?.stop()
  }
  return 0
}
