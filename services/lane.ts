/** Runs work in the order in which it came, at most `limit` at once. */
export type Lane = <T>(work: () => Promise<T>) => Promise<T>

export const createLane = (limit: number): Lane => {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running < limit) running += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The place passes on, so that nobody who comes meanwhile takes it.
      if (next) next()
      else running -= 1
    }
  }
}
