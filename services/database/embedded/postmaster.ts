import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { programIn } from './binaries.ts'
import type { Places } from './choose-places.ts'
import { looksLikePostgres, processStart } from './process-alive.ts'
import { asUser, runProgram } from './run-program.ts'

/** A server that runs on our cluster; `ready` once it has its port and takes connections. */
export type Postmaster = { readonly pid: number; readonly port: number; readonly ready: boolean }

/**
 * The server that runs on the cluster, by its own pid file. A file left by one that died is removed
 * if another program has the number by now (likely in a container): PostgreSQL would not start.
 */
export const findPostmaster = ({ root }: Places): Postmaster | undefined => {
  const file = join(root, 'postgres', 'postmaster.pid')
  let lines: string[]
  try {
    lines = readFileSync(file, 'utf8').split('\n')
  } catch {
    return undefined
  }
  const pid = Number(lines[0])
  if (!pid || processStart(pid) === undefined) return undefined
  if (!looksLikePostgres(pid)) {
    rmSync(file, { force: true })
    return undefined
  }
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

export type Spawned = { readonly pid: number | undefined; readonly exited: boolean }

const largestLogBytes = 10 * 1024 * 1024

/**
 * Starts the server in a session of its own: it outlives us, and Ctrl-C in our terminal does not
 * reach it. Its words go to `postgres.log`.
 */
export const spawnPostmaster = (places: Places, port: number): Spawned => {
  const local = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  const log = openLogFile(places)
  const child = spawn(
    programIn(places.binaries.bin, 'postgres'),
    ['-D', join(places.root, 'postgres'), '-p', String(port), ...local],
    { ...asUser(places.user), cwd: '/', detached: true, stdio: ['ignore', log, log] },
  )
  closeSync(log)
  const state = { pid: child.pid, exited: child.pid === undefined }
  child.on('error', () => (state.exited = true))
  child.on('exit', () => (state.exited = true))
  child.unref()
  return state
}

const logPath = ({ root }: Places): string => join(root, 'postgres.log')

const openLogFile = (places: Places): number => {
  const path = logPath(places)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > largestLogBytes) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** The last lines of the server's log, for an error that must say why it did not start. */
export const readLogEnd = (places: Places): string =>
  readFileSync(logPath(places), 'utf8').trimEnd().split('\n').slice(-8).join('\n')

const fastStopMs = 30_000
const immediateStopMs = 10_000

/** Ends the server: transactions are rolled back, everything is on disk. If it hangs, harder. */
export const stopPostmaster = async (places: Places, pid: number): Promise<void> => {
  const start = processStart(pid)
  const gone = async (timeoutMs: number): Promise<boolean> => {
    for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
      if (processStart(pid) !== start) return true
    }
    return false
  }
  if (start === undefined) return
  await ask(places, pid, 'fast')
  if (await gone(fastStopMs)) return
  await ask(places, pid, 'immediate')
  if (await gone(immediateStopMs)) return
  throw new Error(`PostgreSQL (process ${pid}) does not stop; its log is ${logPath(places)}`)
}

const ask = async (places: Places, pid: number, mode: 'fast' | 'immediate'): Promise<void> => {
  if (process.platform === 'win32') {
    const cluster = join(places.root, 'postgres')
    await runProgram(programIn(places.binaries.bin, 'pg_ctl'), ['stop', '-D', cluster, '-m', mode])
    return
  }
  try {
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
  } catch {
    // It has ended by itself.
  }
}
