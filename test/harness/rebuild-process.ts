import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Pool } from '../../services/database/pool.ts'
import { readRebuild, type RebuildProgress } from '../../services/projector/rebuild/read-rebuild.ts'

/** A `stemma rebuild transcript --json` as a process of its own. */
export type RebuildProcess = {
  kill(signal: NodeJS.Signals): void
  /** How it ended: its exit code, or the signal; and all that it printed, line by line. */
  readonly ended: Promise<{
    readonly how: number | string
    readonly lines: readonly Record<string, unknown>[]
    readonly stderr: string
  }>
}

const main = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url))

export const startRebuild = (
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): RebuildProcess => {
  const child = spawn(
    process.execPath,
    [main, 'rebuild', 'transcript', '--json', '--workers', '2', ...options],
    { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const printed = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text))
  const ended = new Promise<Awaited<RebuildProcess['ended']>>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      const whole = printed.stdout.split('\n').slice(0, -1)
      const lines = whole.map((line) => JSON.parse(line) as Record<string, unknown>)
      resolve({ how: code ?? signal ?? 'unknown', lines, stderr: printed.stderr })
    })
  })
  return { kill: (signal) => void child.kill(signal), ended }
}

/** Resolves when the newest rebuild is as it is wanted. */
export const rebuildReaches = async (
  pool: Pool,
  wanted: (progress: RebuildProgress) => boolean,
): Promise<RebuildProgress> => {
  for (;;) {
    const progress = await readRebuild(pool, 'transcript')
    if (progress && wanted(progress)) return progress
    await sleep(5)
  }
}
