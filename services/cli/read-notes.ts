import type { StoredEvent } from '../../schema/events/envelope.ts'
import type { ServiceClient } from './client-request.ts'
import { addNote, type TranscriptNotes } from './transcript-notes.ts'

type Events = { readonly data: readonly StoredEvent[] }

/** Notes what the session's events say up to a seq. */
export const readNotes = async (
  notes: TranscriptNotes,
  throughSeq: number,
  from: { readonly client: ServiceClient; readonly path: string; readonly limit: number },
  signal?: AbortSignal,
): Promise<void> => {
  const { client, path, limit } = from
  while (notes.seq < throughSeq) {
    const query = { afterSeq: notes.seq, limit }
    const page = (await client.get(`${path}/events`, query, signal)) as Events
    for (const event of page.data) addNote(notes, event)
    if (page.data.length === 0) return
  }
}
