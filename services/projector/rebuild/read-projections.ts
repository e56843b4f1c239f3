import type { Projection } from '../../../schema/http/projections.ts'
import type { Pool } from '../../database/pool.ts'

/** Every projection with its generations, oldest first. */
export const readProjections = async (pool: Pool): Promise<Projection[]> => {
  const rows = await pool.use((connection) =>
    connection.query<Row>(
      `select l.name, l.live_version as live, g.version as generation, g.fold, g.state,
           case when l.name = 'sessions' then (select count(*) from stemma.lists_stalled s
             where s.version = l.live_version) end as stalled
         from stemma.projection l join stemma.projection_generation g using (name)
         order by l.name, g.version`,
      [],
    ),
  )
  return [...Map.groupBy(rows, ({ name }) => name)].map(([name, own]) => ({
    name,
    liveGeneration: own[0]!.live,
    fold: own.find(({ generation, live }) => generation === live)!.fold,
    ...(own[0]!.stalled !== null && { stalled: own[0]!.stalled }),
    generations: own.map(({ generation, fold, state }) => ({ generation, fold, state })),
  }))
}

type Row = {
  name: string
  live: number
  generation: number
  fold: number
  stalled: number | null
  state: Projection['generations'][number]['state']
}
