import type { TranscriptProgress } from './rows.ts'

/** Which of a session's own messages are shown: by range of places, but for some. */
export type ShownPlaces = {
  readonly ranges: readonly { readonly from: number; readonly through: number }[]
  readonly except: ReadonlySet<string>
}

/**
 * What the session shows of its own messages as of a seq: what its newest cut before that keeps, and
 * all that was placed after the cut. Entries of ancestors come with forks.
 */
export const shownPlaces = (
  progress: TranscriptProgress,
  sessionId: string,
  asOfSeq: number,
): ShownPlaces => {
  const cut = progress.cuts?.findLast(({ seq }) => seq <= asOfSeq)
  if (!cut) return { ranges: [{ from: 0, through: asOfSeq }], except: new Set() }
  const own = cut.lineage.flatMap((entry) =>
    'fromPlace' in entry && entry.sessionId === sessionId ? [entry] : [],
  )
  return {
    ranges: [
      ...own.map(({ fromPlace, throughPlace }) => ({ from: fromPlace, through: throughPlace })),
      { from: cut.seq + 1, through: asOfSeq },
    ],
    except: new Set(own.flatMap((entry) => entry.except)),
  }
}

export const isShown = (
  shown: ShownPlaces,
  message: { readonly messageId: string; readonly place: number | null },
): boolean => {
  const { place } = message
  return (
    place !== null &&
    !shown.except.has(message.messageId) &&
    shown.ranges.some(({ from, through }) => place >= from && place <= through)
  )
}
