import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { programIn } from './binaries.ts'
import type { Places } from './choose-places.ts'
import { runProgram } from './run-program.ts'

const draftPrefix = 'postgres.new-'

/**
 * Makes the cluster if there is none: beside its place, then moved there in one step, so that a
 * start that was killed leaves nothing half made, and of two at once one cluster stays.
 */
export const initCluster = async (places: Places, password: string): Promise<void> => {
  const { root, user, binaries } = places
  const cluster = join(root, 'postgres')
  if (existsSync(cluster)) return checkVersion(places)
  for (const left of readdirSync(root).filter((name) => name.startsWith(draftPrefix))) {
    rmSync(join(root, left), { recursive: true, force: true })
  }
  const draft = join(root, `${draftPrefix}${randomUUID()}`)
  const passwordFile = `${draft}.password`
  mkdirSync(draft, { mode: 0o700 })
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (user) for (const path of [draft, passwordFile]) chownSync(path, user.uid, user.gid)
  try {
    const options = ['-U', 'stemma', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256']
    const encoding = ['-E', 'UTF8', '--locale=C']
    await runProgram(
      programIn(binaries.bin, 'initdb'),
      ['-D', draft, ...options, ...encoding],
      user,
    )
    appendFileSync(join(draft, 'postgresql.conf'), configuration)
    renameSync(draft, cluster)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(cluster)) throw error
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/** A cluster is of one major version for life. */
const checkVersion = ({ root, binaries }: Places): void => {
  const made = readFileSync(join(root, 'postgres', 'PG_VERSION'), 'utf8').trim()
  if (made === binaries.version.split('.')[0]) return
  throw new Error(
    `${join(root, 'postgres')} was made by PostgreSQL ${made}, and this is ${binaries.version}: ` +
      'dump it with the old one and restore it into a new data directory',
  )
}

/** May be edited; port and addresses are given on the command line. */
const configuration = `
# Stemma's choices.
max_connections = 200
shared_buffers = 256MB
max_wal_size = 2GB
checkpoint_timeout = 10min
autovacuum_naptime = 15s
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %a '
`
