import { displayWidth } from './display-width.ts'

/** Rows at the foot of a terminal that are drawn anew until what they show is settled. */
export type Preview = {
  /** What removes the rows that are shown, and shows these instead. */
  readonly draw: (text: string) => string
  /** What removes them, before anything else is printed. */
  readonly clear: () => string
}

const mostRows = 12

export const openPreview = (size: () => { columns: number; rows: number }): Preview => {
  let shown = 0
  const clear = (): string => {
    const up = shown > 1 ? `\u001b[${shown - 1}A` : ''
    const erase = shown > 0 ? `\r${up}\u001b[J` : ''
    shown = 0
    return erase
  }
  return {
    clear,
    draw: (text) => {
      const { columns, rows } = size()
      const erase = clear()
      if (text === '') return erase
      // A row that is full to its last column would be wrapped by some terminals.
      const lines = wrap(text, columns - 1).slice(-Math.max(1, Math.min(mostRows, rows - 2)))
      shown = lines.length
      return erase + lines.join('\n')
    },
  }
}

/** The text in rows of so many columns. */
export const wrap = (text: string, columns: number): string[] =>
  text.split('\n').flatMap((line) => {
    const rows: string[] = []
    let row = ''
    let width = 0
    for (const { segment } of graphemes.segment(line.replaceAll('\t', ' '))) {
      const wide = displayWidth(segment)
      if (width + wide > columns && row !== '') {
        rows.push(row)
        row = ''
        width = 0
      }
      row += segment
      width += wide
    }
    return [...rows, row]
  })

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
