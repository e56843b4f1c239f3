import type { Carried } from '../projections/transcript/carried.ts'
import { transcriptFold } from '../projections/transcript/rows.ts'
import type { Message } from '../projections/transcript/to-message.ts'

/** A reply of `GET /v1/sessions/{id}/messages`, in either order, parsed. */
export type TranscriptPage = {
  readonly data: readonly Message[]
  readonly asOfSeq: number
  readonly fold?: unknown
}

/** What the page carries for the fold. Throws TypeError if this fold cannot go on from it. */
export const carriedBy = ({ asOfSeq, data, fold }: TranscriptPage): Carried => {
  const carried = fold as Carried | undefined
  if (!carried) {
    if (asOfSeq === 0 && data.length === 0) return nothingYet
    throw new TypeError('the page is not of the head of the log, or its session is stalled')
  }
  if (carried.version !== transcriptFold) {
    throw new TypeError(
      `the page is of version ${carried.version} of the transcript, and this client of ${transcriptFold}`,
    )
  }
  return carried
}

const nothingYet: Carried = {
  version: transcriptFold,
  end: { progress: {}, waiting: [] },
}
