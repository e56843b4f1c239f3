/** A queue of callers, first come first served, each with a time limit of its own. */
export type Waiters<T> = {
  /** Resolves with what `next` is given; rejects with `expired()` after the time limit. */
  wait(timeoutMs: number, expired: () => Error): Promise<T>
  /** Takes the longest waiting caller off the queue, as the function that serves it. */
  next(): ((value: T) => void) | undefined
  rejectAll(error: unknown): void
  readonly size: number
}

export const createWaiters = <T>(): Waiters<T> => {
  // A Set keeps the order of arrival, and lets who gave up leave from the middle.
  const waiting = new Set<{ resolve: (value: T) => void; reject: (error: unknown) => void }>()
  return {
    wait: (timeoutMs, expired) =>
      new Promise<T>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(waiter)
          reject(expired())
        }, timeoutMs)
        const waiter = {
          resolve: (value: T): void => {
            clearTimeout(timer)
            resolve(value)
          },
          reject: (error: unknown): void => {
            clearTimeout(timer)
            reject(error)
          },
        }
        waiting.add(waiter)
      }),
    next: () => {
      for (const waiter of waiting) {
        waiting.delete(waiter)
        return waiter.resolve
      }
      return undefined
    },
    rejectAll: (error) => {
      const all = [...waiting]
      waiting.clear()
      for (const waiter of all) waiter.reject(error)
    },
    get size() {
      return waiting.size
    },
  }
}
