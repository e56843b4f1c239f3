/**
 * Whether a text is nothing to a provider, which takes neither an empty text nor one of blanks.
 * Control characters are blanks to some of them.
 */
export const isBlank = (text: string | undefined): boolean =>
  text === undefined || !/[^\s\p{Cc}]/u.test(text)
