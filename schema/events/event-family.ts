import type { TSchema } from 'typebox'

/** Who may write an event: the owner of a turn, anyone with `append`, the store alone. */
export type Writer = 'owner' | 'anyone' | 'store'

export type EventEntry = {
  readonly version: number
  readonly writers: readonly Writer[]
  readonly data: TSchema
}

export type EventFamily = Readonly<Record<string, EventEntry>>

/** Version 1 of an event, by its writers; the letters are those of the design's table. */
export const owner = <D extends TSchema>(data: D) => entry(['owner'], data)
export const ownerOrStore = <D extends TSchema>(data: D) => entry(['owner', 'store'], data)
export const anyone = <D extends TSchema>(data: D) => entry(['anyone'], data)
export const anyoneOrStore = <D extends TSchema>(data: D) => entry(['anyone', 'store'], data)
export const store = <D extends TSchema>(data: D) => entry(['store'], data)

const entry = <D extends TSchema>(writers: readonly Writer[], data: D) => ({
  version: 1,
  writers,
  data,
})
