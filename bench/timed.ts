/**
 * Lets `writers` loops run side by side for a while, each calling what `write` made for it again and
 * again; gives what they did per second, all together. A call gives how much it did.
 */
export const timed = async (
  writers: number,
  milliseconds: number,
  write: (writer: number) => () => Promise<number>,
): Promise<number> => {
  const begins = performance.now()
  const ends = begins + milliseconds
  const counts = await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const once = write(writer)
      let done = 0
      while (performance.now() < ends) done += await once()
      return done
    }),
  )
  return counts.reduce((sum, n) => sum + n, 0) / ((performance.now() - begins) / 1000)
}
