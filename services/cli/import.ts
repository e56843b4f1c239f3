import { readFile, glob } from 'node:fs/promises'
import type { Static } from 'typebox'
import type { ImportReply } from '../../schema/http/imports.ts'
import { readSource } from '../adapters/read-source.ts'
import { recognise } from '../adapters/recognise.ts'
import { splitEvents } from '../adapters/split-events.ts'
import { NotTranslatable, type Translation } from '../adapters/translation.ts'
import { readSettings, type Settings } from '../settings.ts'
import { openClient, ServiceUnreachable, type ServiceClient } from './client-request.ts'
import { describeFailure } from './describe-failure.ts'
import { renderImport, type ImportedFile } from './render-import.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { writeJson, writeOut } from './write-out.ts'

const usage = `stemma import <file>… [options]

Brings in sessions of other agents. What a file is, is told by its content. Importing a file again
changes nothing; one that has grown since adds what is new. Files may be patterns ("dir/*.json").

  --verbose   also say what was mended and what was left, and why
  --json      print the results as JSON
`

export const runImport = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    { verbose: { type: 'boolean' }, json: { type: 'boolean' } },
    usage,
  )
  if (!parsed) return 0
  if (parsed.positionals.length === 0) throw new UsageError('takes one file or more', usage)
  const { verbose = false, json = false } = parsed.values
  const settings = readSettings()
  const client = openClient(settings)
  const files = await namedFiles(parsed.positionals)
  const results: ImportedFile[] = []
  for (const file of files) {
    const result = await importFile(client, settings, file)
    results.push(result)
    if (json) continue
    if (result.error === undefined) await writeOut(renderImport(result, verbose))
    else process.stderr.write(renderImport(result, verbose))
  }
  if (json) await writeJson({ data: results })
  return results.every(({ error }) => error === undefined) ? 0 : 1
}

/** The files of names and patterns. A name without a file stays, so that its error is reported. */
const namedFiles = async (names: readonly string[]): Promise<string[]> => {
  const files = new Set<string>()
  for (const name of names) {
    const matches: string[] = []
    if (/[*?[{]/.test(name)) for await (const match of glob(name)) matches.push(match)
    for (const file of matches.length > 0 ? matches.toSorted() : [name]) files.add(file)
  }
  return [...files]
}

/** One file's failure is its own: the next ones are imported all the same. */
const importFile = async (
  client: ServiceClient,
  settings: Settings,
  file: string,
): Promise<ImportedFile> => {
  try {
    const source = readSource(await readFile(file))
    const adapter = recognise(source.value)
    if (!adapter) throw new NotTranslatable('no adapter knows this kind of session')
    const translation = adapter.translate(source.value)
    const { sessionId, added, duplicates } = await send(client, settings, translation)
    const { mended, left } = translation.report
    return {
      file,
      adapter: adapter.name,
      sessionId,
      added,
      duplicates,
      mended: [...source.mended, ...mended],
      left,
    }
  } catch (error) {
    // Nobody there for one file is nobody there for all.
    if (error instanceof ServiceUnreachable) throw error
    const why = error instanceof NotTranslatable ? error.message : describeFailure(error)
    return { file, error: why }
  }
}

type Imported = Static<typeof ImportReply>['data']

const send = async (
  client: ServiceClient,
  settings: Settings,
  { origin, sessionId, events }: Translation,
): Promise<Pick<Imported, 'sessionId' | 'added' | 'duplicates'>> => {
  let added = 0
  let duplicates = 0
  const envelope = Buffer.byteLength(JSON.stringify({ origin, sessionId, events: [] }))
  const limits = { events: settings.maxEvents, bytes: settings.maxBodyBytes - envelope }
  for (const batch of splitEvents(events, limits)) {
    const reply = await client.post('/v1/imports', { origin, sessionId, events: batch })
    const { data } = reply as Static<typeof ImportReply>
    added += data.added
    duplicates += data.duplicates
  }
  return { sessionId, added, duplicates }
}
