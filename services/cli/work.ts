import type { Static } from 'typebox'
import type { WorkPage } from '../../schema/http/work.ts'
import { readSettings } from '../settings.ts'
import { openClient, ServiceProblem } from './client-request.ts'
import { openLine, patiently } from './outage.ts'
import { paintFor } from './paint.ts'
import { renderWork } from './render-work.ts'
import { untilInterrupted } from './until-interrupted.ts'
import { parseCommand, UsageError } from './usage-error.ts'
import { escapeJson, writeOut } from './write-out.ts'

const usage = `stemma work [options]

Prints what waits for an owner: inputs and answers in sessions where no turn is active, and turns
that may be claimed, from the fence that is named.

  --host <host>      of sessions that are located on this host, or on none
  --project <name>   of sessions of this project
  --follow           then also what becomes work, until Ctrl-C; a service that is lost is waited for
  --json             each as it is, one JSON on a line
`

const waitMs = 20_000

type Page = Static<typeof WorkPage>

export const runWork = async (argv: string[]): Promise<number> => {
  const parsed = parseCommand(
    argv,
    {
      host: { type: 'string' },
      project: { type: 'string' },
      follow: { type: 'boolean' },
      json: { type: 'boolean' },
    },
    usage,
  )
  if (!parsed) return 0
  const { host, project, follow: isFollowing = false, json = false } = parsed.values
  if (parsed.positionals.length > 0) throw new UsageError('takes no arguments', usage)
  const settings = readSettings()
  const client = openClient(settings)
  const paint = paintFor(process.stdout)
  const read = async (after: string | undefined, signal?: AbortSignal): Promise<Page> => {
    const wait = signal && after !== undefined ? { waitMs } : {}
    const query = { host, project, after, limit: settings.maxPage, ...wait }
    return (await client.get('/v1/work', query, signal)) as Page
  }
  const print = ({ data }: Page): Promise<void> =>
    writeOut(
      data
        .map((work) => (json ? `${escapeJson(JSON.stringify(work))}\n` : renderWork(work, paint)))
        .join(''),
    )

  let listed = 0
  let page = await read(undefined)
  // A page that is not full is the end of what is work now.
  for (; ; page = await read(page.cursor.next)) {
    listed += page.data.length
    await print(page)
    if (page.data.length < settings.maxPage) break
  }
  if (listed === 0 && !json) say('nothing waits for an owner')
  if (!isFollowing) return 0

  let after: string | undefined = page.cursor.next
  return untilInterrupted(async (signal) => {
    const line = openLine(say)
    while (!signal.aborted) {
      const next: Page | undefined = await patiently(
        async () => {
          try {
            return await read(after, signal)
          } catch (error) {
            // Another log came behind the service, as of a backup: all of its work is news.
            if (after === undefined || !isOtherLog(error)) throw error
            say('the service has another log now: its work is listed anew')
            return read(undefined, signal)
          }
        },
        line,
        signal,
      )
      if (!next) return 0
      line.back()
      after = next.cursor.next
      await print(next)
    }
    return 0
  })
}

const isOtherLog = (error: unknown): boolean =>
  error instanceof ServiceProblem && error.problem.code === 'invalid_cursor'

const say = (text: string): void => void process.stderr.write(`stemma work: ${text}\n`)
