/** Runs work that goes on until Ctrl-C (or SIGTERM), which ends it and is no failure. */
export const untilInterrupted = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const interrupted = new AbortController()
  const stop = (): void => {
    // Who presses it twice wants out at once.
    if (interrupted.signal.aborted) process.exit(0)
    interrupted.abort()
  }
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, stop)
  try {
    return await work(interrupted.signal)
  } finally {
    for (const signal of signals) process.off(signal, stop)
  }
}
