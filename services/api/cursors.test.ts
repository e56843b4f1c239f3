import fc from 'fast-check'
import t from 'tap'
import { decodeCursor, encodeCursor, type CursorScope } from './cursors.ts'

const scope: CursorScope = {
  route: 'GET /v1/things',
  tenant: 1,
  sessionId: 'ses_1',
  filters: { order: 'asc', status: undefined },
}
const place = fc.array(fc.oneof(fc.string(), fc.maxSafeInteger()), { minLength: 1, maxLength: 4 })

t.test('a cursor gives back the place that it was made of', async () => {
  fc.assert(
    fc.property(place, (of) => {
      const found = decodeCursor(scope, encodeCursor(scope, of))
      return JSON.stringify(found) === JSON.stringify(of)
    }),
  )
})

t.test('a cursor of another route, tenant, session or filter is invalid_cursor', (t) => {
  const cursor = encodeCursor(scope, [7])
  for (const other of [
    { ...scope, route: 'GET /v1/others' },
    { ...scope, tenant: 2 },
    { ...scope, sessionId: 'ses_2' },
    { ...scope, filters: { order: 'desc' } },
    { ...scope, filters: { order: 'asc', status: 'idle' } },
    { ...scope, filters: {} },
  ]) {
    t.throws(() => decodeCursor(other, cursor), { code: 'invalid_cursor' })
  }
  const reordered = { ...scope, filters: { status: undefined, order: 'asc' } }
  t.same(decodeCursor(reordered, cursor), [7], 'the order of filters says nothing')
  t.end()
})

t.test('a cursor that was changed anywhere, or made up, is invalid_cursor', async (t) => {
  const cursor = encodeCursor(scope, [7, 'x'])
  for (let at = 0; at < cursor.length; at += 1) {
    const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
    t.throws(() => decodeCursor(scope, changed), { code: 'invalid_cursor' }, changed)
  }
  for (const bent of [`${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.slice(0, -1)]) {
    t.throws(() => decodeCursor(scope, bent), { code: 'invalid_cursor' }, bent)
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        decodeCursor(scope, text)
        return false
      } catch (error) {
        return (error as { code?: string }).code === 'invalid_cursor'
      }
    }),
  )
})
