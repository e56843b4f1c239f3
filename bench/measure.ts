import type { Claim, OpenBench } from './bench.ts'

/** Lowest, middle and highest. */
export type Spread = readonly [low: number, middle: number, high: number]

export type Measured = {
  /** What each contender did, by the names of the figures. */
  readonly figures: ReadonlyMap<string, { readonly spread: Spread; readonly unit: string }>
  readonly claims: readonly (Claim & { readonly ratio: Spread; readonly reached?: boolean })[]
}

/**
 * Lets the contenders take turns, round by round, so that a machine whose speed drifts drifts for
 * all of them. Every other round runs backwards: who follows whom makes a difference, too. One short
 * round for warming is not counted.
 */
export const measure = async (
  { contenders, claims }: OpenBench,
  options: { readonly rounds: number; readonly milliseconds: number },
): Promise<Measured> => {
  const figures = new Map<string, { readonly list: number[]; readonly unit: string }>()
  for (const { round } of contenders) await round(Math.min(300, options.milliseconds))
  for (let round = 0; round < options.rounds; round += 1) {
    const turn = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const { name, unit = '/s', round: run } of turn) {
      const given = await run(options.milliseconds)
      const named = typeof given === 'number' ? { [name]: given } : behind(name, given)
      for (const [key, figure] of Object.entries(named)) {
        if (!figures.has(key)) figures.set(key, { list: [], unit })
        figures.get(key)!.list.push(figure)
      }
    }
  }
  const listOf = (name: string): readonly number[] => {
    const figure = figures.get(name)
    if (!figure) throw new Error(`there is no figure ${name}`)
    return figure.list
  }
  return {
    figures: new Map(
      [...figures].map(([name, { list, unit }]) => [name, { spread: spreadOf(list), unit }]),
    ),
    claims: claims.map((claim) => {
      const against = claim.against === undefined ? undefined : listOf(claim.against)
      const ratios = listOf(claim.ours).map((figure, n) => figure / (against?.[n] ?? 1))
      const ratio = spreadOf(ratios)
      const { must, atMost } = claim
      return {
        ...claim,
        ratio,
        ...(must !== undefined && { reached: ratio[1] >= must }),
        ...(atMost !== undefined && { reached: ratio[1] <= atMost }),
      }
    }),
  }
}

const behind = (
  name: string,
  given: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(given).map(([key, figure]) => [`${name} ${key}`, figure]))

const spreadOf = (list: readonly number[]): Spread => {
  const sorted = list.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const middle = sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
  return [sorted[0]!, middle, sorted.at(-1)!]
}
