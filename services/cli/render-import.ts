import { visibleLine } from './visible.ts'

/** What became of a file: imported, or an error that says why not. */
export type ImportedFile =
  | {
      readonly file: string
      readonly adapter: string
      readonly sessionId: string
      readonly added: number
      readonly duplicates: number
      readonly mended: readonly string[]
      readonly left: readonly string[]
      readonly error?: undefined
    }
  | { readonly file: string; readonly error: string }

/** One line for the file; with `verbose`, one more for each thing that was mended or left. */
export const renderImport = (result: ImportedFile, verbose: boolean): string => {
  const file = visibleLine(result.file)
  if (result.error !== undefined) return `${file}: not imported: ${result.error}\n`
  const { sessionId, added, duplicates, mended, left } = result
  const line = `${visibleLine(sessionId)}  ${count(added, 'added')}  ${count(duplicates, 'known')}  ${count(mended.length, 'mended')}  ${count(left.length, 'left')}  ${file}\n`
  if (!verbose) return line
  const lines = [
    ...mended.map((what) => `  mended: ${visibleLine(what)}\n`),
    ...left.map((what) => `  left: ${visibleLine(what)}\n`),
  ]
  return line + lines.join('')
}

const count = (n: number, word: string): string => `${String(n).padStart(4)} ${word}`
