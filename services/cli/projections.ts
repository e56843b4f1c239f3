import type { Static } from 'typebox'
import type { Projection, ProjectionsReply } from '../../schema/http/projections.ts'
import { readSettings } from '../settings.ts'
import { openClient } from './client-request.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { visibleLine } from './visible.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma projections [options]

Lists what is computed from the log, and which generation of it is live.

  --json           print them as JSON
`

export const runProjections = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(argv, { json: { type: 'boolean' } }, usage)
  if (!parsed) return 0
  if (parsed.positionals.length > 0) throw new UsageError('takes no arguments', usage)
  const client = openClient(readSettings())
  const { data } = (await client.get('/v1/projections', {})) as Static<typeof ProjectionsReply>
  if (parsed.values.json) await writeJson({ data })
  else await writeOut(data.map((projection) => `${visibleLine(line(projection))}\n`).join(''))
  return 0
}

const line = ({ name, liveGeneration, fold, stalled = 0, generations }: Projection): string => {
  const others = generations
    .filter(({ generation, state }) => generation !== liveGeneration && state !== 'removed')
    .map(({ generation, state }) => `, generation ${generation} is ${state}`)
  const aside = stalled === 0 ? '' : `, sessions set aside: ${stalled}`
  return `${name}: generation ${liveGeneration} is live (fold ${fold})${others.join('')}${aside}`
}
