import type { TranslatedEvent } from './translation.ts'

export type BatchLimits = { readonly events: number; readonly bytes: number }

/**
 * Splits a translation into calls of `POST /v1/imports`, in order. What was derived from the source's
 * end travels in the last call, together with the last event of the source: alone it would be taken
 * for a copy that brings nothing new.
 */
export const splitEvents = (
  events: readonly TranslatedEvent[],
  limits: BatchLimits,
): TranslatedEvent[][] => {
  const batches: TranslatedEvent[][] = []
  let batch: TranslatedEvent[] = []
  let bytes = 0
  for (const unit of unitsOf(events)) {
    const size = unit.reduce((sum, event) => sum + sizeOf(event), 0)
    const full = batch.length + unit.length > limits.events || bytes + size > limits.bytes
    if (full && batch.length > 0) {
      batches.push(batch)
      batch = []
      bytes = 0
    }
    batch.push(...unit)
    bytes += size
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}

/** Each event by itself, but the last one with the closings that follow it. */
const unitsOf = (events: readonly TranslatedEvent[]): TranslatedEvent[][] => {
  const last = events.findLastIndex(({ meta }) => meta?.['importClosing'] !== true)
  if (last === -1) return events.length > 0 ? [[...events]] : []
  return [...events.slice(0, last).map((event) => [event]), events.slice(last)]
}

/** Bytes of the event in a JSON body, with its comma. */
const sizeOf = (event: TranslatedEvent): number => Buffer.byteLength(JSON.stringify(event)) + 1
