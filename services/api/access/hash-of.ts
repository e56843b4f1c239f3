import { createHash } from 'node:crypto'

/** What is kept of a token or a ticket: hexadecimal SHA-256. Both are random, so that it suffices. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
