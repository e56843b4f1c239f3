import t from 'tap'
import { openTestApp, type TestApp } from '../../../test/harness/test-app.ts'
import type { Principal, Scope } from '../plugins/principal.ts'
import { redeemTicket } from './redeem-ticket.ts'

type Ticket = { readonly ticket: string; readonly expiresAt: string }

const issue = async ({ call }: TestApp): Promise<Ticket> => {
  const reply = await call('POST', '/v1/tickets')
  if (reply.status !== 201) throw new Error(`a ticket was refused with ${reply.status}`)
  return (reply.body as { data: Ticket }).data
}

const query = <R extends object>({ database }: TestApp, sql: string): Promise<R[]> =>
  database.pool.use((connection) => connection.query<R & Record<string, unknown>>(sql))

const expire = (api: TestApp) =>
  query(api, `update stemma.ticket set expires_at = now() - interval '1 millisecond'`)

t.test('a ticket stands for who asked for it, with the same scopes, and holds once', async (t) => {
  const principal: Principal = {
    tenant: 1,
    subject: 'kim@example.com',
    scopes: new Set<Scope>(['read', 'answer']),
  }
  await using api = await openTestApp({ authenticate: async () => principal })
  const { ticket } = await issue(api)
  t.match(ticket, /^[A-Za-z0-9_-]{43}$/)
  t.same(await redeemTicket(api.database.pool, ticket), principal)
  t.equal(await redeemTicket(api.database.pool, ticket), undefined)
})

t.test('a ticket of one server is redeemed at another, by one of twenty at once', async (t) => {
  await using one = await openTestApp()
  await using two = await openTestApp({ database: one.database })
  const [a, b] = [await issue(one), await issue(two)]
  for (const { ticket } of [a, b]) {
    const tries = await Promise.all(
      Array.from({ length: 20 }, () => redeemTicket(two.database.pool, ticket)),
    )
    t.match(
      tries.filter((found) => found !== undefined),
      [{ subject: 'local', tenant: 1 }],
    )
  }
  t.match((await one.call('POST', '/v1/tickets', {})).status, 201, 'an empty object will do')
})

t.test('a ticket holds for 30 seconds of the clock of the database', async (t) => {
  await using api = await openTestApp()
  const { ticket, expiresAt } = await issue(api)
  const [row] = await query<{ left: number; same: boolean }>(
    api,
    `select extract(epoch from expires_at - now())::float8 as left,
       expires_at = '${expiresAt}' as same from stemma.ticket`,
  )
  t.ok(row!.left <= 30 && row!.same)
  await expire(api)
  t.equal(await redeemTicket(api.database.pool, ticket), undefined)
})

t.test('only its hash is kept, and expired ones are swept away with the next', async (t) => {
  await using api = await openTestApp()
  const first = await issue(api)
  await issue(api)
  const kept = JSON.stringify(await query(api, 'select * from stemma.ticket'))
  t.notMatch(kept, first.ticket)
  await expire(api)
  await Promise.all(Array.from({ length: 8 }, () => issue(api)))
  const [row] = await query<{ count: number }>(api, 'select count(*) as count from stemma.ticket')
  t.equal(row!.count, 8)
})

t.test('what is no ticket is nobody, and the database is not asked', async (t) => {
  await using api = await openTestApp()
  const { ticket } = await issue(api)
  const unreachable = { use: () => Promise.reject(new Error('it was asked')) } as never
  for (const wrong of [
    '',
    'x',
    `${ticket}=`,
    `${ticket}\n`,
    ticket.slice(1),
    `é${ticket.slice(1)}`,
  ]) {
    t.equal(await redeemTicket(unreachable, wrong), undefined)
  }
  t.equal(await redeemTicket(api.database.pool, 'A'.repeat(43)), undefined)
})
