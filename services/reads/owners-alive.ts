import type { Connection } from '../database/connection.ts'
import type { SessionRow } from '../log/load-session.ts'

/**
 * Of sessions with an active turn, whether its owner holds it: not, if the turn was released, if the
 * owner is gone or was never registered, or is another incarnation (a later one, or an import's). Then it may be
 * claimed. By sid.
 */
export const readOwnersAlive = async (
  connection: Connection,
  sessions: readonly SessionRow[],
): Promise<Map<number, boolean>> => {
  const turns = sessions.flatMap(({ sid, tenant, state: { turn } }) =>
    turn ? [{ sid, tenant, ...turn }] : [],
  )
  if (turns.length === 0) return new Map()
  const owners = await connection.query<{ o: number; incarnation: number; lost: boolean }>(
    `select u.o, n.incarnation, n.lost
       from unnest($1::text::int[], string_to_array($2, ' ')) with ordinality u(tenant, owner, o)
         cross join lateral stemma.owner_now_v1(u.tenant, u.owner) n`,
    [
      `{${turns.map(({ tenant }) => tenant).join(',')}}`,
      turns.map(({ ownerId }) => ownerId).join(' '),
    ],
  )
  const found = new Map(owners.map(({ o, ...owner }) => [o - 1, owner]))
  return new Map(
    turns.map(({ sid, released, incarnation }, index) => {
      const owner = found.get(index)
      const current = owner && !owner.lost && owner.incarnation === incarnation
      return [sid, !released && current === true]
    }),
  )
}
