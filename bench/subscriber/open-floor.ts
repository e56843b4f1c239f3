import postgres from 'postgres'
import { openFloor as openInserts } from '../contenders/floor.ts'

/** Commits an INSERT, then rings, and resolves when the ring is heard on another connection. */
export const openFloor = async (url: string): Promise<(n: number) => Promise<void>> => {
  const inserts = await openInserts(url)
  const settings = { max: 1, fetch_types: false, onnotice: () => {} }
  const ringer = postgres(url, settings)
  const listener = postgres(url, settings)
  const waiting = new Map<string, () => void>()
  await listener.listen('floor', (text) => {
    waiting.get(text)?.()
    waiting.delete(text)
  })
  let seq = 0
  return async (n) => {
    seq += 1
    const text = String(seq)
    await inserts.insert(1_000 + n, seq)
    const heard = new Promise<void>((resolve) => waiting.set(text, resolve))
    await ringer`select pg_notify('floor', ${text})`
    await heard
  }
}
