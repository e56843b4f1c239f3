import type { Ring } from './bus.ts'

/** NOTIFY takes 7,999 bytes. */
const mostBytes = 7_900

/** Rings as texts for NOTIFY, `server sid:head sid:head …`, each as long as one may be. */
export const ringTexts = (server: string, heads: ReadonlyMap<number, number>): string[] => {
  const texts: string[] = []
  let text = server
  for (const [sid, headSeq] of heads) {
    const ring = ` ${sid}:${headSeq}`
    if (text.length + ring.length > mostBytes) {
      texts.push(text)
      text = server
    }
    text += ring
  }
  if (text !== server) texts.push(text)
  return texts
}

/** The other way round; what is not understood, as a newer server's, is left out. */
export const readRings = (
  text: string,
): { readonly server: string; readonly rings: readonly Ring[] } => {
  const [server = '', ...entries] = text.split(' ')
  const rings = entries.flatMap((entry) => {
    const found = /^(\d{1,15}):(\d{1,15})$/.exec(entry)
    return found ? [{ sid: Number(found[1]), headSeq: Number(found[2]) }] : []
  })
  return { server, rings }
}
