import t from 'tap'
import { Refusal } from '../../schema/errors.ts'
import { eventTable } from '../../schema/events/event-table.ts'
import { validateEvents } from './validate-event.ts'

const check = (event: unknown, mode: 'append' | 'import' = 'append') =>
  validateEvents([event], { pointer: '/events', mode, maxEventBytes: 1_000 })

const refusalOf = (event: unknown, mode: 'append' | 'import' = 'append'): [string, ...string[]] => {
  try {
    check(event, mode)
  } catch (error) {
    if (error instanceof Refusal) return [error.code, ...error.faults.map((f) => f.pointer)]
    throw error
  }
  throw new Error('it was accepted')
}

const rename = { type: 'session.renamed', data: { title: 'x' } }

t.test('events are refused with a code and pointers, whatever is wrong with them', async (t) => {
  const cases: readonly [unknown, string, ...string[]][] = [
    [null, 'invalid_body', '/events/0'],
    [{}, 'invalid_body', '/events/0/type', '/events/0/data'],
    [{ ...rename, extra: 1 }, 'invalid_body', '/events/0/extra'],
    [{ ...rename, data: { title: 3 } }, 'invalid_body', '/events/0/data/title'],
    [{ ...rename, data: { title: 'x', more: 1 } }, 'invalid_body', '/events/0/data/more'],
    [{ ...rename, data: {} }, 'invalid_body', '/events/0/data/title'],
    [{ ...rename, eventId: 'no blanks' }, 'invalid_id', '/events/0/eventId'],
    [{ ...rename, eventId: 'x'.repeat(129) }, 'invalid_id', '/events/0/eventId'],
    [{ ...rename, version: 2 }, 'invalid_body', '/events/0/version'],
    [{ ...rename, occurredAt: 'yesterday' }, 'invalid_body', '/events/0/occurredAt'],
    [
      { ...rename, occurredAt: '2026-01-01T00:00:00.1234567Z' },
      'invalid_body',
      '/events/0/occurredAt',
    ],
    [{ ...rename, occurredAt: '2026-02-30T25:00:00Z' }, 'invalid_body', '/events/0/occurredAt'],
    [{ ...rename, meta: { turnId: 'trn' } }, 'invalid_body', '/events/0/meta/turnId'],
    [{ ...rename, meta: { importClosing: true } }, 'invalid_body', '/events/0/meta/importClosing'],
    [{ ...rename, meta: [] }, 'invalid_body', '/events/0/meta'],
    [{ type: 'session.dreamt', data: {} }, 'unknown_type', '/events/0/type'],
    [{ type: 'toString', data: {} }, 'unknown_type', '/events/0/type'],
    [{ type: 'x.', data: {} }, 'unknown_type', '/events/0/type'],
    [{ type: 'x.a b', data: {} }, 'unknown_type', '/events/0/type'],
    [{ type: 'turn.started', data: {} }, 'reserved_type', '/events/0/type'],
    [{ type: 'x.big', data: 'x'.repeat(1_001) }, 'too_large', '/events/0'],
    [
      { type: 'text.ended', data: { messageId: 'a b', partId: 'p', text: '' } },
      'invalid_id',
      '/events/0/data/messageId',
    ],
  ]
  for (const [event, ...expected] of cases)
    t.same(refusalOf(event), expected, JSON.stringify(event)?.slice(0, 80))
})

t.test(
  'a foreign event keeps whatever JSON it has, a known one gets its version, both get an id',
  async (t) => {
    const [foreign] = check({ type: 'x.mine', data: [null, { __proto__: 1 }] })
    t.match(foreign, { version: 1, meta: {}, eventId: /^evt_/ })
    t.match(check(rename)[0], { version: 1, eventId: /^evt_[0-9a-z]{26}$/ })
  },
)

t.test('an import writes events of every type, with closings', async (t) => {
  t.match(check({ ...rename, meta: { importClosing: true } }, 'import')[0], {
    meta: { importClosing: true },
  })
  t.same(refusalOf({ ...rename, meta: { importClosing: 'yes' } }, 'import'), [
    'invalid_body',
    '/events/0/meta/importClosing',
  ])
  t.same(refusalOf({ ...rename, meta: { fence: 1 } }, 'import'), [
    'invalid_body',
    '/events/0/meta/fence',
  ])
  check({ type: 'session.deleted', data: {} }, 'import')
})

t.test('every type of the table has a schema that refuses members it does not know', async (t) => {
  for (const type of Object.keys(eventTable)) {
    const [code, ...pointers] = refusalOf({ type, data: { notAMember: 1 } }, 'import')
    t.equal(code, 'invalid_body', type)
    t.ok(pointers.includes('/events/0/data/notAMember'), type)
  }
})
