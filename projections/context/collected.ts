import type { Changed, ContextEntry, LeftOut } from '../../schema/http/context.ts'
import type { Message } from '../transcript/to-message.ts'
import type { CallNames } from './call-names.ts'

/** What a context is made of, while it is being made. */
export type Collected = {
  readonly entries: ContextEntry[]
  readonly leftOut: LeftOut[]
  readonly changed: Changed[]
  readonly names: CallNames
  /** Answer rows, by the request that they answer. */
  readonly answers: ReadonlyMap<string, Message>
  /** Requests that a call here was asked about: its result carries the answer. */
  readonly asked: ReadonlySet<string>
  /** Whether a call that waits for an answer is there, with a result that says so. */
  readonly waiting: boolean
}
