import t from 'tap'
import { hashOf } from './hash-of.ts'
import { parseTokens } from './parse-tokens.ts'

const entry = {
  sha256: hashOf('one'),
  tenant: 'team',
  subject: 'kim@example.com',
  scopes: ['read', 'append'],
}
const other = { ...entry, sha256: hashOf('two') }
const textOf = (...entries: readonly unknown[]): string => JSON.stringify(entries)

t.test('the entries are taken as they are, whatever case the hash is written in', async (t) => {
  const all = { ...other, scopes: ['read', 'append', 'answer', 'import', 'admin'] }
  t.same(parseTokens(textOf({ ...entry, sha256: entry.sha256.toUpperCase() }, all)), [entry, all])
})

t.test('what is wrong with an entry is said with its number, and never what stands in it', (t) => {
  const token = 'stm_hush-hush_hush-hush'
  for (const [bad, says] of [
    [{ ...other, [token]: 1 }, 'entry 2 has a member that is none of sha256, tenant, subject'],
    [{ ...other, sha256: token }, 'entry 2: sha256 must be the 64 hexadecimal digits'],
    [{ ...other, sha256: `${other.sha256}\n` }, 'entry 2: sha256 must be'],
    [{ ...other, sha256: 1 }, 'entry 2: sha256 must be'],
    [{ ...other, sha256: undefined }, 'entry 2: sha256 must be'],
    [{ ...other, tenant: `${token} ` }, 'entry 2: tenant must be 1 to 128 of'],
    [{ ...other, subject: '' }, 'entry 2: subject must be'],
    [{ ...other, subject: `${token}\u0000` }, 'entry 2: subject must be'],
    [{ ...other, subject: `${token}\ud800` }, 'entry 2: subject must be'],
    [
      { ...other, scopes: [token] },
      'entry 2: scopes must be a list of one or more of read, append',
    ],
    [{ ...other, scopes: [] }, 'entry 2: scopes must be'],
    [{ ...other, scopes: ['read', 'read'] }, 'entry 2: scopes must be'],
    [{ ...other, scopes: 'read' }, 'entry 2: scopes must be'],
    [{ ...other, sha256: entry.sha256.toUpperCase() }, 'entry 2 has the same sha256 as entry 1'],
    [token, 'entry 2 must be an object with'],
    [null, 'entry 2 must be an object with'],
  ] as const) {
    try {
      parseTokens(textOf(entry, bad))
      t.fail(`it was taken: ${JSON.stringify(bad)}`)
    } catch (error) {
      t.match(error, { name: 'TokensError', message: says })
      t.notMatch(String(error), /hush/)
    }
  }
  t.end()
})

t.test('every entry that is wrong is named at once', async (t) => {
  t.throws(() => parseTokens(textOf({ ...entry, tenant: '' }, other, { ...other, scopes: [] })), {
    message: /^entry 1: tenant must[^\n]+\nentry 3: scopes must[^\n]+$/,
  })
})

t.test('a file that is no list of entries is refused, and not quoted', async (t) => {
  for (const [text, says] of [
    ['', 'it is not JSON'],
    ['hush', 'it is not JSON'],
    ['[{"hush":', 'it is not JSON'],
    [Buffer.from([0xff]), 'it is not valid UTF-8'],
    ['{"hush":1}', 'it must be a JSON array of entries'],
    ['[]', 'it has no entry, so nobody could be served'],
    [`[{},{"hush":1,"hush":2}]`, 'entry 2 '],
    [`{"hush":1,"hush":2}`, 'it is not JSON as it must be'],
  ] as const) {
    try {
      parseTokens(text)
      t.fail(`it was taken: ${String(text)}`)
    } catch (error) {
      t.match(error, { name: 'TokensError', message: says })
      t.notMatch(String(error), /hush/)
    }
  }
})
