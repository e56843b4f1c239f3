import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { processStart } from './process-alive.ts'

const patienceMs = 120_000

/**
 * Holds a lock file for as long as the work takes. It names its process and when that started; the
 * lock of one that has died is taken over. Linking a finished file into place is the exclusive
 * create: nobody sees it half written.
 */
export const withLockFile = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  const mine = `${process.pid} ${processStart(process.pid)} ${randomUUID()}\n`
  const deadline = Date.now() + patienceMs
  while (!create(path, mine)) {
    const holder = readIfThere(path)
    if (holder !== undefined && isDead(holder)) takeAway(path, holder)
    else if (Date.now() > deadline) {
      throw new Error(`${path} is held by process ${holder?.split(' ')[0]}, which does not let go`)
    } else await sleep(20 + Math.random() * 30)
  }
  try {
    return await work()
  } finally {
    if (readIfThere(path) === mine) rmSync(path, { force: true })
  }
}

const create = (path: string, content: string): boolean => {
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, content, { mode: 0o644 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isExists(error)) return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

const isDead = (holder: string): boolean => {
  const [pid, start] = holder.split(' ')
  return processStart(Number(pid)) !== start
}

/** Moves the dead one's lock aside, and puts it back if it was another's by then. */
const takeAway = (path: string, dead: string): void => {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
  } catch {
    return
  }
  if (readIfThere(aside) !== dead) {
    try {
      linkSync(aside, path)
    } catch {
      // A third has it already. What the lock guards withstands two holders; it saves work, mostly.
    }
  }
  rmSync(aside, { force: true })
}

const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const isExists = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST'
