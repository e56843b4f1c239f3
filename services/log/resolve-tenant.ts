import type { Pool } from '../database/pool.ts'

/** The number of the tenant's row, made on first use. Kept per pool: a tenant never changes number. */
export const resolveTenant = async (pool: Pool, name: string): Promise<number> => {
  let known = numbers.get(pool)
  if (!known) numbers.set(pool, (known = new Map()))
  const kept = known.get(name)
  if (kept !== undefined) return kept
  const [row] = await pool.use((connection) =>
    connection.query<{ tenant: number }>(
      `with made as (
         insert into stemma.tenant (name) select $1
           where not exists (select from stemma.tenant where name = $1)
         on conflict (name) do nothing returning tenant)
       select tenant from made union all select tenant from stemma.tenant where name = $1`,
      [name],
    ),
  )
  // Made by another server between the two reads: it is there now.
  if (!row) return resolveTenant(pool, name)
  known.set(name, row.tenant)
  return row.tenant
}

const numbers = new WeakMap<Pool, Map<string, number>>()
