import type { Static } from 'typebox'
import type { MessagesPage } from '../../schema/http/messages.ts'
import type { ServiceClient } from './client-request.ts'

export type Page = Static<typeof MessagesPage>

/** The pages of a transcript, from its beginning or from its end. */
export async function* readPages(
  client: ServiceClient,
  path: string,
  { limit, order }: { readonly limit: number; readonly order: 'asc' | 'desc' },
): AsyncGenerator<Page> {
  let cursor: string | undefined
  do {
    const page = (await client.get(`${path}/messages`, { limit, order, cursor })) as Page
    yield page
    cursor = page.cursor.next ?? undefined
  } while (cursor !== undefined)
}
