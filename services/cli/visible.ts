/**
 * The text with everything made visible that could drive a terminal or turn its letters around:
 * control characters but newline and tab, bidirectional controls, lone surrogates. What is shown is
 * for reading; `--json` gives what is there.
 */
export const visible = (text: string): string =>
  text.replaceAll(unsafe, (character) => {
    const code = character.codePointAt(0)!
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
  })

/** The same on one line: newlines and tabs are shown too. */
export const visibleLine = (text: string): string =>
  visible(text).replaceAll('\n', '\u23ce').replaceAll('\t', ' ')

// C0 but \t and \n, DEL and C1, line and paragraph separators, bidi marks, embeddings and isolates,
// invisible tag characters, surrogates without their other half.
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|\p{Surrogate}/gu
