import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, DatabaseError, type OpenConnection } from '../connection.ts'
import { choosePlaces, type Places } from './choose-places.ts'
import { keepPort, openCredentials, urlOf, type Credentials } from './credentials.ts'
import { freePort, isFree } from './free-port.ts'
import { initCluster } from './init-cluster.ts'
import { withLockFile } from './lock-file.ts'
import { findPostmaster, readLogEnd, spawnPostmaster, stopPostmaster } from './postmaster.ts'

export type EmbeddedOptions = {
  readonly dataDir: string
  /** Told in whole lines what someone who looks for the files would want to know. */
  readonly log: (line: string) => void
  /** A folder with another PostgreSQL's `postgres` and `initdb`, instead of the packaged ones. */
  readonly bin?: string
}

export type Embedded = {
  /** Of the database `stemma`, which is there, and empty on the first start. */
  readonly url: string
  readonly port: number
  /** Where the files are: the folder that was asked for, or another that a line has named. */
  readonly dataDir: string
  readonly version: string
  /** It ran already: another server of ours had started it, or one that was killed. */
  readonly joined: boolean
  /** The process of the server. */
  readonly pid: number
  /** Stops the server unless others of ours (application name `stemma…`) still use it. */
  stop(): Promise<'stopped' | 'left running'>
}

/**
 * Starts a PostgreSQL server of our own on the data directory, or joins the one that runs there
 * already: of any number of starts at once one starts it, and who leaves last stops it, whoever
 * started it. Port and password stay in the directory. Throws an Error that says what is wrong.
 */
export const startEmbedded = async (options: EmbeddedOptions): Promise<Embedded> => {
  const places = await choosePlaces({ bin: undefined, ...options })
  // Starting, joining and leaving exclude each other, so that nobody joins what is being stopped.
  const lockFile = join(places.root, 'postgres.lock')
  const held = await withLockFile(lockFile, () => startOrJoin(places))
  let stopping: Promise<'stopped' | 'left running'> | undefined
  return {
    url: urlOf(held.credentials, 'stemma'),
    port: held.credentials.port,
    dataDir: places.root,
    version: places.binaries.version,
    joined: held.joined,
    pid: held.pid,
    stop: () => (stopping ??= withLockFile(lockFile, () => leave(places, held))),
  }
}

type Held = {
  readonly credentials: Credentials
  readonly pid: number
  readonly joined: boolean
  /** An open connection tells others, who look before they stop the server, that we use it. */
  readonly presence: OpenConnection
}

const startTries = 4

const startOrJoin = async (places: Places): Promise<Held> => {
  let credentials = await openCredentials(places.root)
  await initCluster(places, credentials.password)
  const there = await meet(places, credentials, () => false)
  if (there) return { ...there, joined: true }
  for (let tries = 1; tries <= startTries; tries += 1) {
    // Somebody else may have taken the port since the last time, or between look and start.
    if (tries > 1 || !(await isFree(credentials.port))) {
      credentials = keepPort(places.root, credentials, await freePort())
    }
    const spawned = spawnPostmaster(places, credentials.port)
    const met = await meet(places, credentials, () => !spawned.exited)
    if (met) return { ...met, joined: met.pid !== spawned.pid }
  }
  throw new Error(`PostgreSQL does not start. The end of its log:\n${readLogEnd(places)}`)
}

/** Recovery after a crash may take this long. */
const answerPatienceMs = 120_000

/**
 * Connects to the server that runs on the cluster, however long it takes to get ready. Undefined
 * when there is none, and none is `expected` to appear any more.
 */
const meet = async (
  places: Places,
  credentials: Credentials,
  expected: () => boolean,
): Promise<Omit<Held, 'joined'> | undefined> => {
  const deadline = Date.now() + answerPatienceMs
  let last: unknown
  while (Date.now() < deadline) {
    const coming = expected()
    const found = findPostmaster(places)
    if (!found && !coming) return undefined
    if (found?.ready) {
      const reached = { ...credentials, port: found.port }
      try {
        const presence = await openPresence(places, reached)
        return { presence, pid: found.pid, credentials: reached }
      } catch (error) {
        if (error instanceof Misfit) throw error
        last = error
      }
    }
    await sleep(20)
  }
  throw new Error(`PostgreSQL runs and does not answer; see postgres.log in ${places.root}`, {
    cause: last,
  })
}

/** The cluster and what is kept about it do not belong together; trying again does not help. */
class Misfit extends Error {}

const openPresence = async (places: Places, credentials: Credentials): Promise<OpenConnection> => {
  const presence = await connectTo(credentials)
  try {
    const [row] = await presence.query<{ cluster: string; there: boolean }>(
      `select current_setting('data_directory') as cluster,
         exists (select from pg_database where datname = 'stemma') as there`,
    )
    const cluster = realpathSync(join(places.root, 'postgres'))
    if (row!.cluster !== cluster) {
      throw new Misfit(`the server on port ${credentials.port} serves ${row!.cluster}`)
    }
    presence.unref()
    if (!row!.there) await presence.query('create database stemma').catch(ignoreExisting)
    return presence
  } catch (error) {
    presence.destroy()
    throw error
  }
}

const connectTo = async (credentials: Credentials): Promise<OpenConnection> => {
  try {
    return await connect({
      url: urlOf(credentials, 'postgres'),
      applicationName: 'stemma-presence',
      statementTimeoutMs: 30_000,
      connectTimeoutMs: 5_000,
    })
  } catch (error) {
    if (error instanceof DatabaseError && error.code.startsWith('28')) {
      throw new Misfit('the password in postgres.json is not the one of the cluster beside it')
    }
    throw error
  }
}

/** Made by another start at the same moment. */
const ignoreExisting = (error: unknown): void => {
  if (error instanceof DatabaseError && (error.code === '42P04' || error.code === '23505')) return
  throw error
}

/** Connections that are being closed may still be listed for a moment. */
const othersPatienceMs = 1_000

const leave = async (places: Places, held: Held): Promise<'stopped' | 'left running'> => {
  const found = findPostmaster(places)
  if (!found) return 'stopped'
  const presence = held.presence.lost
    ? await connectTo({ ...held.credentials, port: found.port }).catch(() => undefined)
    : held.presence
  if (!presence || (await othersStay(presence))) {
    await presence?.close()
    return 'left running'
  }
  await stopPostmaster(places, found.pid)
  presence.destroy()
  return 'stopped'
}

const othersStay = async (presence: OpenConnection): Promise<boolean> => {
  for (const deadline = Date.now() + othersPatienceMs; ; await sleep(25)) {
    const [row] = await presence.query<{ others: number }>(
      `select count(*)::int as others from pg_stat_activity
         where application_name like 'stemma%' and pid <> pg_backend_pid()`,
    )
    if (row!.others === 0) return false
    if (Date.now() > deadline) return true
  }
}
