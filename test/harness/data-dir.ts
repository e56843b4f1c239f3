import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder that another user may pass through; disposing removes it. */
export const openDataDir = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), 'stemma-test-'))
  chmodSync(path, 0o755)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
