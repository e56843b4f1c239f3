import type { Pool } from '../../database/pool.ts'

/** A rebuild under way: which projection, and the generation that it fills, by which it is named. */
export type Rebuild = {
  readonly name: 'transcript'
  readonly generation: number
  /** The generation that was live when it began, and that it is compared with. */
  readonly replaces: number
}

/** One process's work on a rebuild. */
export type RebuildJob = {
  readonly pool: Pool
  readonly rebuild: Rebuild
  /** Names who claims a range; no two workers have the same. */
  readonly worker: string
  readonly signal: AbortSignal
}

export type RebuildPhase = 'filling' | 'verifying' | 'differs' | 'removing' | 'done'
export type RebuildOutcome = 'live' | 'checked' | 'discarded'
