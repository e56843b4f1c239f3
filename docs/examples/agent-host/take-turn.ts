import type { Work } from './find-work.ts'
import type { Owner, Report, Turn } from './shapes.ts'
import { Refused, type Store } from './store.ts'

export type Taken = { readonly turn: Turn; readonly report?: Report }

/** Starts a turn or claims one. Undefined: it is not ours to take, at least not now. */
export const takeTurn = async (
  store: Store,
  owner: Owner,
  work: Work,
): Promise<Taken | undefined> => {
  const { sessionId } = work
  try {
    const { report, ...held }: { turnId: string; fence: number; report?: Report } =
      work.kind === 'turn'
        ? await store.claim(sessionId, work.turnId, owner, work.fromFence)
        : await store.start(sessionId, owner, work.inputs)
    return { turn: { sessionId, ...held, written: 0 }, ...(report && { report }) }
  } catch (error) {
    if (error instanceof Refused && isNotOurs.has(error.code)) return undefined
    throw error
  }
}

const isNotOurs: ReadonlySet<string> = new Set([
  // Its owner holds it still.
  'owner_alive',
  // Another host was quicker.
  'fenced',
  'turn_active',
  'turn_settled',
  'input_delivered',
])
