import fc from 'fast-check'
import t from 'tap'
import { malformedQuery, parseQuery } from './parse-query.ts'

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

t.test('a query string gives the members that were encoded into it', async () => {
  const text = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(fc.dictionary(text, text), (members) => {
      const query = parseQuery(new URLSearchParams(Object.entries(members)).toString())
      const found = Object.entries(query).toSorted(byName)
      return JSON.stringify(found) === JSON.stringify(Object.entries(members).toSorted(byName))
    }),
  )
})

t.test('a member that is there twice is no text any more, so that no schema takes it', (t) => {
  t.same(parseQuery('a=1&a=2&b'), { a: ['1', '2'], b: '' })
  t.same(parseQuery('a=1&a=2&a=3'), { a: ['1', '2', '3'] })
  t.end()
})

t.test('what is not percent-encoded UTF-8 is marked, and nothing is thrown', (t) => {
  for (const text of ['a=%', 'a=%zz', '%E0%A4=1', 'a=%ED%A0%80', 'a=%FF']) {
    t.ok(malformedQuery in parseQuery(text), text)
  }
  t.notOk(malformedQuery in parseQuery('a=%25&b=%F0%9F%98%80'))
  t.end()
})
