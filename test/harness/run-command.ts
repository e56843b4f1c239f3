import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../services/cli/main.ts', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

export type CommandResult = {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `stemma` as a process of its own, as a script would: no terminal, in the project's folder. */
export const runCommand = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...argv], {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...printed }))
  })
