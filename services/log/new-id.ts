import { createHash, randomFillSync } from 'node:crypto'

export type IdPrefix = 'ses' | 'msg' | 'evt' | 'req' | 'trn' | 'own' | 'epo' | 'pln'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const randomLength = 16
const pool = Buffer.alloc(randomLength * 256)
let used = pool.length

/**
 * A new id: the prefix, 10 characters of time and 16 of chance. The time makes neighbours in the
 * log neighbours in its indexes; order is never taken from it.
 */
export const newId = (prefix: IdPrefix): string => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  let id = ''
  let time = Date.now()
  for (let i = 0; i < 10; i += 1) {
    id = alphabet[time % 32] + id
    time = Math.floor(time / 32)
  }
  for (let i = 0; i < randomLength; i += 1) id += alphabet[pool[used++]! & 31]
  return `${prefix}_${id}`
}

/** The id that follows from its parts: the same parts always give the same id. */
export const deriveId = (prefix: IdPrefix, ...parts: readonly string[]): string => {
  const digest = createHash('sha256').update(parts.join('\n')).digest()
  let id = ''
  for (let i = 0; i < 26; i += 1) id += alphabet[digest[i]! & 31]
  return `${prefix}_${id}`
}
