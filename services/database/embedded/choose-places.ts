import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { copiedFolder, copyFolder, makeLinks, openBinaries, packagedFolder } from './binaries.ts'
import type { Binaries } from './binaries.ts'
import { runProgram, type SystemUser } from './run-program.ts'

/** Who runs PostgreSQL, with which programs, and where its files are. */
export type Places = {
  readonly user: SystemUser | undefined
  readonly binaries: Binaries
  /** Holds `postgres/` (the cluster), `postgres.json`, `postgres.log` and `postgres.lock`. */
  readonly root: string
}

/** Where root's PostgreSQL keeps what it cannot reach elsewhere. */
const systemFolder = '/var/lib/stemma'

/**
 * PostgreSQL does not run as root: then it runs as the system's user `postgres`, who must be able to
 * reach programs and data. What lies below a folder closed to others (such as /root) is kept below
 * /var/lib/stemma instead, and a line says so.
 */
export const choosePlaces = async (options: {
  readonly dataDir: string
  /** Programs other than the packaged ones. */
  readonly bin: string | undefined
  readonly log: (line: string) => void
}): Promise<Places> => {
  const user = process.getuid?.() === 0 ? await findOrAddUser('postgres') : undefined
  const root = chooseRoot(resolve(options.dataDir), user, options.log)
  const bin = options.bin ?? join(await chooseFolder(root, user, options.log), 'bin')
  return { user, root, binaries: await openBinaries(bin) }
}

const chooseRoot = (
  dataDir: string,
  user: SystemUser | undefined,
  log: (line: string) => void,
): string => {
  mkdirSync(dataDir, { recursive: true, mode: user ? 0o755 : 0o700 })
  const real = realpathSync(dataDir)
  if (!user || canEnter(real, user)) return real
  const hash = createHash('sha256').update(real).digest('hex').slice(0, 8)
  const root = join(systemFolder, 'data', `${basename(real).replace(/^\./, '')}-${hash}`)
  mkdirSync(root, { recursive: true, mode: 0o755 })
  log(`the user ${user.name} cannot enter ${real}: the database's files are in ${root}`)
  return root
}

const chooseFolder = async (
  root: string,
  user: SystemUser | undefined,
  log: (line: string) => void,
): Promise<string> => {
  const folder = realpathSync(packagedFolder())
  const reachable = !user || canEnter(join(folder, 'bin'), user)
  if (reachable && makeLinks(folder)) return folder
  const copy = copiedFolder(folder, reachable ? root : systemFolder)
  if (!existsSync(copy)) {
    const why = reachable
      ? `${folder} cannot be written to`
      : `${user?.name} cannot enter ${folder}`
    log(`${why}: PostgreSQL's programs are copied to ${copy}`)
  }
  await copyFolder(folder, copy)
  return copy
}

/** Whether the user may pass through the folder and all above it, by their modes. */
export const canEnter = (folder: string, user: SystemUser): boolean => {
  const { mode, uid, gid } = statSync(folder)
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  if ((mode & bit) === 0) return false
  const parent = dirname(folder)
  return parent === folder || canEnter(parent, user)
}

const findOrAddUser = async (name: string): Promise<SystemUser> => {
  const there = findUser(name)
  if (there) return there
  try {
    await runProgram('useradd', ['--system', '--no-create-home', '--user-group', name])
  } catch (cause) {
    // Another start may have added it in the meantime.
    if (!findUser(name)) {
      throw new Error(
        `PostgreSQL does not run as root, and the user ${name} could not be added: ` +
          'add it, start as an ordinary user, or set DATABASE_URL',
        { cause },
      )
    }
  }
  return findUser(name)!
}

const findUser = (name: string): SystemUser | undefined => {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`))
  const fields = line?.split(':')
  return fields && { name, uid: Number(fields[2]), gid: Number(fields[3]) }
}
