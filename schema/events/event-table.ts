import type { Static } from 'typebox'
import { contextEvents } from './context.ts'
import { fileEvents } from './files.ts'
import { inputEvents } from './input.ts'
import { otherEvents } from './other.ts'
import { partEvents } from './part.ts'
import { requestEvents } from './request.ts'
import { revertEvents } from './revert.ts'
import { sessionEvents } from './session.ts'
import { stepEvents } from './step.ts'
import { turnEvents } from './turn.ts'
import { workspaceEvents } from './workspace.ts'

/** Every event that the store knows: its version, who may write it, and its payload. */
export const eventTable = {
  ...sessionEvents,
  ...inputEvents,
  ...turnEvents,
  ...stepEvents,
  ...partEvents,
  ...requestEvents,
  ...contextEvents,
  ...revertEvents,
  ...fileEvents,
  ...workspaceEvents,
  ...otherEvents,
} as const

export type EventType = keyof typeof eventTable
export type EventData<T extends EventType> = Static<(typeof eventTable)[T]['data']>

/** Types of others, kept and passed on untouched: `x.` and 1 to 126 of the id alphabet. */
export const foreignType = /^x\.[A-Za-z0-9._:~-]{1,126}$/

export const isKnownType = (type: string): type is EventType => Object.hasOwn(eventTable, type)
