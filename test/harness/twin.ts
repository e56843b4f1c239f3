import { openPool } from '../../services/database/pool.ts'
import type { TestDatabase } from './database.ts'

/**
 * Makes an empty database of the same name and password on another server, as a restored copy would
 * be. Gives its url.
 */
export const makeTwin = async (database: TestDatabase, other: string): Promise<string> => {
  await using pool = openPool({ url: other, max: 1, applicationName: 'stemma-test' })
  await pool.use(async (admin) => {
    await admin.query(`create database ${database.name}`)
    await admin.query(`alter role stemma password '${new URL(database.url).password}'`)
  })
  const { host } = new URL(other)
  const url = new URL(database.url)
  url.host = host
  return url.href
}
