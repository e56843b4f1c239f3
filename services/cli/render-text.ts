const mostLines = 8
const mostCharacters = 1200

/** The first lines, and how much is missing; all of it when `full`. */
export const shorten = (text: string, full: boolean): string => {
  const trimmed = text.replace(/\n+$/, '')
  if (full) return trimmed
  const lines = trimmed.split('\n')
  const kept = lines.slice(0, mostLines).join('\n')
  if (kept.length > mostCharacters) {
    const cut = kept.slice(0, mostCharacters).replace(/[\ud800-\udbff]$/, '')
    return `${cut}… (${trimmed.length} characters)`
  }
  return lines.length > mostLines ? `${kept}\n… ${lines.length - mostLines} more lines` : kept
}

/** Each line set in by two blanks. */
export const indent = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ')
