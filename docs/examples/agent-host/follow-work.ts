import type { Work } from './shapes.ts'
import type { Store } from './store.ts'

/**
 * What waits for an owner, one thing after another: all that waits now, then what becomes work, until
 * the host is to leave. Each is an offer, made to every host that follows: by the time it is looked at it
 * may be old, and who tries to take it is refused. If it becomes work again, it is offered again.
 */
export async function* followWork(
  store: Store,
  leaving: AbortSignal,
  project?: string,
): AsyncGenerator<Work, void> {
  let asked: { project?: string; after?: string } = project === undefined ? {} : { project }
  while (!leaving.aborted) {
    // While a turn runs nobody asks: what becomes work meanwhile is found from the same place later.
    const page = await store.work(asked, leaving).catch((error: unknown) => {
      if (!leaving.aborted) throw error
    })
    if (!page) return
    for (const work of page.data) if (!leaving.aborted) yield work
    asked = { ...asked, after: page.cursor.next }
  }
}
