/** Text for a column that cannot hold NUL, and is filtered or sorted by. The content keeps it as it is. */
export const plainText = (text: string): string =>
  // U+001E separates lists on their way to the database.
  text.toWellFormed().replaceAll('\0', '\ufffd').replaceAll('\u001e', '\ufffd').slice(0, 2_000)
