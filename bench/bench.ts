import type { World } from './world.ts'

/**
 * One way to do a thing. A round gives how much of it was done per second; or several figures, each
 * with a name that goes behind the contender's.
 */
export type Contender = {
  readonly name: string
  readonly round: (milliseconds: number) => Promise<number | Readonly<Record<string, number>>>
  /** Of what it gives; `/s` where it says nothing. */
  readonly unit?: string
}

/**
 * What is said of two figures of one bench: the median of their ratios, round by round. Without
 * `against` it is said of the figure itself, which is a difference then.
 */
export type Claim = {
  readonly ours: string
  readonly against?: string
  /** What the design demands (section 12); undefined where it demands nothing. */
  readonly must?: number
  /** The same where less is better. */
  readonly atMost?: number
}

/** A row of the design's table, or a family of them, whose contenders take turns. */
export type Bench = {
  /** By which it is chosen: `npm run bench -- <name>`. */
  readonly name: string
  readonly about: string
  readonly open: (world: World) => Promise<OpenBench>
}

export type OpenBench = AsyncDisposable & {
  /** In the order in which they take turns. Their names are theirs alone. */
  readonly contenders: readonly Contender[]
  readonly claims: readonly Claim[]
}
