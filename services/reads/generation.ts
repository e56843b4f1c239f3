import { transcriptFold } from '../../projections/transcript/rows.ts'

/**
 * The generation of the transcript that this build reads and writes, as a scalar of SQL, so that it
 * is of the same snapshot as the rows: the live one, if this build's fold made it; else the newest
 * that did, for builds side by side; else 0, which has no rows, and all is folded from the log.
 */
export const transcriptGeneration = `coalesce((select g.version
    from stemma.projection_generation g join stemma.projection l on l.name = g.name
    where g.name = 'transcript' and g.fold = ${transcriptFold} and g.state in ('filling', 'whole')
    order by g.version = l.live_version desc, g.state = 'whole' desc, g.version desc limit 1), 0)`
