import { readdirSync, readFileSync } from 'node:fs'

/** One file of schema/tables: `NNNN_name.sql`. */
export type Migration = {
  readonly version: number
  readonly name: string
  /** The oldest build (its own newest version) that may still write once this has run. */
  readonly oldestWriter: number
  /** False for what PostgreSQL refuses inside a transaction, such as `create index concurrently`. */
  readonly inTransaction: boolean
  readonly statements: readonly string[]
}

export const migrationsFolder = new URL('../../schema/tables/', import.meta.url)

/** The migrations of this build, in order. Their last version is the build's own. */
export const readMigrations = (folder: URL = migrationsFolder): readonly Migration[] => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files
    .toSorted()
    .map((file) => parseMigration(file, readFileSync(new URL(file, folder), 'utf8')))
}

/**
 * Headers are comment lines before anything else: `-- oldest writer: N` (needed) and
 * `-- no transaction`. Statements are parted by lines `-- statement`, because a semicolon may stand
 * inside one.
 */
export const parseMigration = (file: string, text: string): Migration => {
  const named = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file)
  if (!named) throw new Error(`schema/tables: ${file} is not named NNNN_name.sql`)
  const headers = /^(?:--.*\n)*/.exec(text)![0]
  const oldestWriter = /^-- oldest writer: (\d+)$/m.exec(headers)
  if (!oldestWriter) throw new Error(`schema/tables: ${file} does not say its oldest writer`)
  return {
    version: Number(named[1]),
    name: named[2]!,
    oldestWriter: Number(oldestWriter[1]),
    inTransaction: !/^-- no transaction$/m.test(headers),
    statements: text
      .split(/^-- statement$/m)
      .map((statement) => statement.trim())
      .filter((statement) => statement.replaceAll(/^--.*$/gm, '').trim() !== ''),
  }
}
