import { migrate } from '../database/migrate.ts'
import { readSettings } from '../settings.ts'
import { withDatabase } from './with-database.ts'

/** `stemma migrate`: brings the database to this build's schema, and does nothing else. */
export const runMigrate = async (argv: string[]): Promise<number> => {
  if (argv.length > 0) throw new Error('stemma migrate takes settings from the environment only')
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const options = { max: 2, applicationName: 'stemma-migrate', say }
  await withDatabase(readSettings(), options, async (pool) => {
    const { from, to } = await migrate(pool)
    say(
      from === to
        ? `the schema is at version ${to}`
        : `brought the schema from version ${from} to ${to}`,
    )
  })
  return 0
}
