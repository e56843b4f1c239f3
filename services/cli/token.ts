import { randomBytes } from 'node:crypto'
import { hashOf } from '../api/access/hash-of.ts'
import { parseTokens, TokensError, type TokenEntry } from '../api/access/parse-tokens.ts'
import { allScopes, type Scope } from '../api/plugins/principal.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma token --subject <who> --scopes <scopes> [options]

Makes a random token. Give the token to who will use it: it is printed once and kept nowhere.
The entry goes into the JSON array in the file that STEMMA_TOKENS_FILE names.

  --subject <who>    whose it is, for example an agent server's name
  --scopes <scopes>  what may be done with it: ${allScopes.join(',')}
  --tenant <tenant>  whose sessions it opens (default "default")
  --json             print {token, entry} as JSON
`

/** Here and there a scanner for secrets knows a token by how it begins. */
const prefix = 'stm_'

export const runToken = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    {
      tenant: { type: 'string' },
      subject: { type: 'string' },
      scopes: { type: 'string' },
      json: { type: 'boolean' },
    },
    usage,
  )
  if (!parsed) return 0
  const { tenant = 'default', subject, scopes, json } = parsed.values
  if (parsed.positionals.length > 0) throw new UsageError('takes no arguments', usage)
  if (subject === undefined) throw new UsageError('--subject is missing', usage)
  if (scopes === undefined) throw new UsageError('--scopes is missing', usage)
  const token = prefix + randomBytes(32).toString('base64url')
  const entry = checked({
    sha256: hashOf(token),
    tenant,
    subject,
    scopes: scopes.split(',').map((scope) => scope.trim() as Scope),
  })
  await (json
    ? writeJson({ token, entry })
    : writeOut(`token  ${token}\nentry  ${JSON.stringify(entry)}\n`))
  return 0
}

/** By the file's own rules, so that what is printed is taken. */
const checked = (entry: TokenEntry): TokenEntry => {
  try {
    return parseTokens(JSON.stringify([entry]))[0]!
  } catch (error) {
    if (!(error instanceof TokensError)) throw error
    throw new UsageError(error.message.replaceAll(/^entry 1: /gm, ''), usage)
  }
}
