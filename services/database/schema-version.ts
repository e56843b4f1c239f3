import { Refusal } from '../../schema/errors.ts'
import { DatabaseError, type Connection } from './connection.ts'

/** What a database says of its schema; version 0 is an empty one. */
export type SchemaVersion = {
  readonly version: number
  /** A build whose own version is below this must not write. */
  readonly oldestWriter: number
}

/** Reads the version, without a lock and without changing anything. */
export const readSchemaVersion = async (connection: Connection): Promise<SchemaVersion> => {
  try {
    const [row] = await connection.query<SchemaVersion>(
      `select coalesce(max(version), 0) as version,
         coalesce(max(oldest_writer), 0) as "oldestWriter" from stemma.schema_version`,
    )
    return row!
  } catch (error) {
    if (error instanceof DatabaseError && missing.has(error.code)) {
      return { version: 0, oldestWriter: 0 }
    }
    throw error
  }
}

/** No such table, no such schema. */
const missing: ReadonlySet<string> = new Set(['42P01', '3F000'])

/** Throws schema_newer if a build of this version must not write to such a database. */
export const refuseNewerSchema = (found: SchemaVersion, build: number): void => {
  if (build >= found.oldestWriter) return
  throw new Refusal(
    'schema_newer',
    `the database is at schema version ${found.version}, which only builds of version ` +
      `${found.oldestWriter} and later may write to; this build is ${build}`,
    { members: { schemaVersion: found.version, oldestWriter: found.oldestWriter, build } },
  )
}
