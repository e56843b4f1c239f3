import { Ajv, type ErrorObject } from 'ajv'
import { Type, type Static } from 'typebox'
import { Refusal } from '../../../schema/errors.ts'
import { Id, strict } from '../../../schema/events/shapes.ts'
import { parseStrict } from '../../json/parse-strict.ts'
import { allScopes } from '../plugins/principal.ts'

/** One token of STEMMA_TOKENS_FILE: what is kept of it, whose it is, and what may be done with it. */
export const TokenEntry = strict({
  sha256: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
  tenant: Id,
  subject: Type.String({ pattern: '^\\P{C}{1,256}$' }),
  scopes: Type.Array(Type.Enum([...allScopes]), { minItems: 1, uniqueItems: true }),
})
export type TokenEntry = Static<typeof TokenEntry>

/** What is wrong with the file; never says what stands in it, where a token may have slipped in. */
export class TokensError extends Error {
  override readonly name = 'TokensError'
}

/** The entries of a tokens file. Throws TokensError with each entry that is wrong, by its number. */
export const parseTokens = (text: Buffer | string): readonly TokenEntry[] => {
  const entries = jsonOf(text)
  if (!Array.isArray(entries)) throw new TokensError('it must be a JSON array of entries')
  if (entries.length === 0) throw new TokensError('it has no entry, so nobody could be served')
  if (!check(entries)) {
    throw new TokensError([...new Set((check.errors ?? []).map(explain))].join('\n'))
  }
  const seen = new Map<string, number>()
  for (const [index, { sha256 }] of entries.entries()) {
    const hash = sha256.toLowerCase()
    const first = seen.get(hash)
    if (first !== undefined) {
      throw new TokensError(`entry ${index + 1} has the same sha256 as entry ${first + 1}`)
    }
    seen.set(hash, index)
  }
  return entries.map((entry) => ({ ...entry, sha256: entry.sha256.toLowerCase() }))
}

const check = new Ajv({ allErrors: true }).compile<TokenEntry[]>(Type.Array(TokenEntry))

const jsonOf = (text: Buffer | string): unknown => {
  try {
    return parseStrict(text)
  } catch (error) {
    // A pointer could name a member, and so could quote what stands there; a place quotes nothing.
    const fault = error instanceof Refusal ? error.faults[0] : undefined
    const entry = /^\/(\d+)/.exec(fault?.pointer ?? '')?.[1]
    if (fault?.pointer === '') throw new TokensError(`it ${fault.detail}`)
    throw new TokensError(
      entry === undefined
        ? 'it is not JSON as it must be'
        : `entry ${Number(entry) + 1} ${fault!.detail}`,
    )
  }
}

const members: Readonly<Record<string, string>> = {
  sha256: 'sha256 must be the 64 hexadecimal digits of the SHA-256 of a token',
  tenant: 'tenant must be 1 to 128 of A-Z a-z 0-9 . _ : ~ -',
  subject: 'subject must be a text of 1 to 256 characters, all of them visible',
  scopes: `scopes must be a list of one or more of ${allScopes.join(', ')}, each once`,
}

const explain = ({ instancePath, keyword, params }: ErrorObject): string => {
  const [, index, member] = instancePath.split('/')
  const entry = `entry ${Number(index) + 1}`
  if (member !== undefined) return `${entry}: ${members[member]}`
  if (keyword === 'required') {
    const { missingProperty } = params as { missingProperty: string }
    return `${entry}: ${members[missingProperty]}`
  }
  const names = Object.keys(members).join(', ')
  return keyword === 'additionalProperties'
    ? `${entry} has a member that is none of ${names}`
    : `${entry} must be an object with ${names}`
}
