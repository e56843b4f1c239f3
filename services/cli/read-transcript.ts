import type { Static } from 'typebox'
import type { MessagesPage } from '../../schema/http/messages.ts'
import type { ServiceClient } from './client-request.ts'

export type Page = Static<typeof MessagesPage>

/** The pages of a transcript, from its beginning or from its end. */
export async function* readPages(
  client: ServiceClient,
  path: string,
  query: { readonly limit: number; readonly order: 'asc' | 'desc' },
  signal?: AbortSignal,
): AsyncGenerator<Page> {
  let cursor: string | undefined
  do {
    const page = (await client.get(`${path}/messages`, { ...query, cursor }, signal)) as Page
    yield page
    cursor = page.cursor.next ?? undefined
  } while (cursor !== undefined)
}
