import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const folder = new URL('./', import.meta.url)
const manifest = new URL('package.json', folder)

/** Installs what the bench compares with into this folder, once. The project itself never has it. */
export const installPeers = (): void => {
  if (existsSync(new URL('node_modules', folder))) return
  console.log('installing the peers into bench/peers (once)')
  const path = fileURLToPath(folder)
  const args = ['ci', '--prefix', path, '--ignore-scripts', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', args, { cwd: path, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error('the peers could not be installed')
}

/** A peer's module. Its types are not there without it, so the caller says what it uses of it. */
export const loadPeer = async <M>(name: string): Promise<M> =>
  (await import(pathToFileURL(createRequire(manifest).resolve(name)).href)) as M

/** Where a file of a peer is. */
export const peerFile = (path: string): URL => new URL(`node_modules/${path}`, folder)
