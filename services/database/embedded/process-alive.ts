import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * When the process started, in a form that only compares, or undefined if no such process runs. Two
 * processes of the same number at different times differ in it. A zombie does not run.
 */
export const processStart = (pid: number): string | undefined => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Not ours to signal, but there.
    if (!isPermission(error)) return undefined
  }
  if (process.platform === 'linux') return linuxStart(pid)
  if (process.platform === 'win32') return 'running'
  return psStart(pid)
}

/** Whether the process looks like a PostgreSQL server; where that cannot be seen, it does. */
export const looksLikePostgres = (pid: number): boolean => {
  if (process.platform !== 'linux') return true
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres')
  } catch {
    return true
  }
}

const isPermission = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPERM'

/** Fields 3 (state) and 22 (start, in ticks since boot); the second field may hold blanks. */
const linuxStart = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

const psStart = (pid: number): string | undefined => {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
