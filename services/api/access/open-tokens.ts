import { createHmac, randomBytes } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { SettingsError } from '../../settings.ts'
import { hashOf } from './hash-of.ts'
import { parseTokens, TokensError, type TokenEntry } from './parse-tokens.ts'

/** The tokens that are taken, as the file has them now. */
export type Tokens = Disposable & {
  /** The entry of a token, at the same effort for every token that is asked for. */
  find(token: string): TokenEntry | undefined
  /** Looks at the file at once, as it is otherwise done every few seconds. Never rejects. */
  readAgain(): Promise<void>
}

export type TokensOptions = {
  readonly file: string
  /** Told what operators should know: a file that all may read, a new one that is faulty. */
  readonly say: (line: string) => void
  readonly everyMs?: number
}

const usualEveryMs = 2_000

/**
 * Reads the tokens file, and again whenever it changes, so that a token can be revoked without a
 * restart. The whole file is compared, as times of change miss two changes in one tick of the clock.
 * A new file that is faulty is reported, and the tokens stay as they were. Throws SettingsError.
 */
export const openTokens = async (options: TokensOptions): Promise<Tokens> => {
  const { file, say, everyMs = usualEveryMs } = options
  const named = (error: unknown): string => `STEMMA_TOKENS_FILE=${file}: ${reasonOf(error)}`
  let text: Buffer
  let tokens: ReadonlyMap<string, TokenEntry>
  try {
    text = await readFile(file)
    tokens = indexOf(parseTokens(text))
  } catch (error) {
    throw new SettingsError(named(error))
  }
  await warnIfOpen(file, say)

  let complaint: string | undefined
  const complain = (error: unknown): void => {
    const line = `${named(error)}\nthe tokens stay as they were`
    if (line !== complaint) say(line)
    complaint = line
  }
  const readAgain = async (): Promise<void> => {
    try {
      const now = await readFile(file)
      if (now.equals(text) && complaint === undefined) return
      tokens = indexOf(parseTokens(now))
      text = now
      complaint = undefined
      say(`STEMMA_TOKENS_FILE=${file}: read again, ${tokens.size} tokens are taken`)
      await warnIfOpen(file, say)
    } catch (error) {
      complain(error)
    }
  }
  // One look after another: an older reading never comes after a newer one.
  let looking = Promise.resolve()
  const look = (): Promise<void> => (looking = looking.then(readAgain))
  const timer = setInterval(() => void look(), everyMs).unref()
  return {
    find: (token) => tokens.get(keyOf(hashOf(token))),
    readAgain: look,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** New in each process: how long a look takes says nothing about the hashes that are kept. */
const secret = randomBytes(32)
const keyOf = (hash: string): string => createHmac('sha256', secret).update(hash).digest('base64')

const indexOf = (entries: readonly TokenEntry[]): ReadonlyMap<string, TokenEntry> =>
  new Map(entries.map((entry) => [keyOf(entry.sha256), entry]))

const reasonOf = (error: unknown): string => {
  if (error instanceof TokensError) return error.message
  const { code } = error as NodeJS.ErrnoException
  return `it cannot be read (${code ?? 'unknown reason'})`
}

const warnIfOpen = async (file: string, say: (line: string) => void): Promise<void> => {
  const { mode } = await stat(file)
  // Windows has no such bits.
  if (process.platform === 'win32' || (mode & 0o004) === 0) return
  say(`STEMMA_TOKENS_FILE=${file}: all users of this machine can read it; chmod 600 it`)
}
