/** Columns that a text takes in a terminal: 2 for wide characters and emoji, 0 for marks. */
export const displayWidth = (text: string): number => {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

/** The text cut to so many columns, with an ellipsis where something is missing. */
export const fit = (text: string, columns: number): string => {
  if (displayWidth(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += wide.test(segment) ? 2 : 1
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** The text filled up with blanks to so many columns. */
export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - displayWidth(text)))

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const wide =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u
