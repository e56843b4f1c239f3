import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { freePort } from './free-port.ts'

/** What a start must know of the cluster beside its files. Kept in `postgres.json`, mode 0600. */
export type Credentials = { readonly port: number; readonly password: string }

/** Reads them; makes them on the first start. Of two starts at once, one's become both's. */
export const openCredentials = async (root: string): Promise<Credentials> => {
  const path = join(root, 'postgres.json')
  const there = read(path)
  if (there) return there
  const made = { port: await freePort(), password: randomBytes(24).toString('base64url') }
  const draft = write(path, made)
  try {
    linkSync(draft, path)
  } catch (error) {
    const theirs = read(path)
    if (!theirs) throw error
    return theirs
  } finally {
    rmSync(draft, { force: true })
  }
  return made
}

/** Keeps another port for the next start. */
export const keepPort = (root: string, credentials: Credentials, port: number): Credentials => {
  const path = join(root, 'postgres.json')
  const changed = { ...credentials, port }
  renameSync(write(path, changed), path)
  return changed
}

export const urlOf = ({ port, password }: Credentials, database: string): string =>
  `postgres://stemma:${password}@127.0.0.1:${port}/${database}`

const read = (path: string): Credentials | undefined => {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const kept: unknown = JSON.parse(text)
  if (
    typeof kept === 'object' &&
    kept !== null &&
    'port' in kept &&
    'password' in kept &&
    typeof kept.port === 'number' &&
    typeof kept.password === 'string'
  ) {
    return { port: kept.port, password: kept.password }
  }
  throw new Error(`${path} is damaged: it should hold a port and a password`)
}

const write = (path: string, credentials: Credentials): string => {
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, `${JSON.stringify(credentials)}\n`, { mode: 0o600 })
  return draft
}
