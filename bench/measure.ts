import type { Claim, OpenBench } from './bench.ts'

/** Lowest, middle and highest. */
export type Spread = readonly [low: number, middle: number, high: number]

export type Measured = {
  /** What each contender did per second. */
  readonly rates: ReadonlyMap<string, Spread>
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
  const rates = new Map(contenders.map(({ name }) => [name, [] as number[]]))
  for (const { round } of contenders) await round(Math.min(300, options.milliseconds))
  for (let round = 0; round < options.rounds; round += 1) {
    const turn = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const contender of turn) {
      rates.get(contender.name)!.push(await contender.round(options.milliseconds))
    }
  }
  return {
    rates: new Map([...rates].map(([name, list]) => [name, spreadOf(list)])),
    claims: claims.map((claim) => {
      const against = rates.get(claim.against)!
      const ratio = spreadOf(rates.get(claim.ours)!.map((rate, index) => rate / against[index]!))
      return {
        ...claim,
        ratio,
        ...(claim.must !== undefined && { reached: ratio[1] >= claim.must }),
      }
    }),
  }
}

const spreadOf = (list: readonly number[]): Spread => {
  const sorted = list.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  const middle = sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
  return [sorted[0]!, middle, sorted.at(-1)!]
}
