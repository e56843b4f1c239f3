import { spawn } from 'node:child_process'

/** The operating system's user that a program runs as; undefined: the one that runs us. */
export type SystemUser = { readonly name: string; readonly uid: number; readonly gid: number }

export const asUser = (user: SystemUser | undefined): { uid?: number; gid?: number } =>
  user ? { uid: user.uid, gid: user.gid } : {}

/** Runs a program to its end; rejects with all that it said if it fails. */
export const runProgram = (
  program: string,
  parameters: readonly string[],
  user?: SystemUser,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, parameters, {
      ...asUser(user),
      // Its own working directory may be one that the user cannot enter.
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
    })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.on('error', (error) => reject(new Error(`${program}: ${error.message}`)))
    child.on('close', (code) =>
      code === 0 ? resolve(said) : reject(new Error(`${program} failed (${code}): ${said.trim()}`)),
    )
  })
