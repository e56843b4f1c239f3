import t from 'tap'
import { isInstant } from './is-instant.ts'

t.test('a time that the calendar has, and the database keeps, is an instant', (t) => {
  for (const text of [
    '2026-01-31T00:00:00Z',
    '2024-02-29T23:59:59.123456Z',
    '2000-02-29T00:00:00+15:59',
    '0001-01-01T00:00:00-00:01',
    '9999-12-31T23:59:59+00:00',
  ]) {
    t.ok(isInstant(text), text)
  }
  t.end()
})

t.test('a time that would come back as another one, or not at all, is none', (t) => {
  for (const text of [
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-02-31T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T23:60:00Z',
    '2026-01-01T23:59:60Z',
    '2026-01-01T00:00:00+16:00',
    '2026-01-01T00:00:00+00:60',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59-12:00',
    'yesterday',
  ]) {
    t.notOk(isInstant(text), text)
  }
  t.end()
})
