/** Writes to standard output, and waits where its reader is slower. */
export const writeOut = (text: string): Promise<void> =>
  new Promise((resolve) => {
    process.stdout.write(text, () => resolve())
  })

/** JSON for programs; as it may end in a terminal all the same, what could drive one is escaped. */
export const writeJson = (value: unknown): Promise<void> => writeOut(`${jsonText(value)}\n`)

export const jsonText = (value: unknown, indent = 2): string =>
  escapeJson(JSON.stringify(value, undefined, indent))

/** JSON with whatever could drive a terminal escaped; it says the same. */
export const escapeJson = (json: string): string =>
  json.replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
