import { cpus, totalmem } from 'node:os'
import { openDataDir } from '../test/harness/data-dir.ts'
import { startEmbedded } from '../services/database/embedded/start-embedded.ts'
import { migrate } from '../services/database/migrate.ts'
import { openPool } from '../services/database/pool.ts'
import { openLog } from '../services/log/open-log.ts'
import { openFloor, stemma, type Contender } from './contenders.ts'

const rounds = 5
const milliseconds = 3_000

type Row = {
  readonly what: string
  readonly must: number
  readonly floor: Contender
  readonly ours: Contender
}

/** Runs every row's floor and contender in turn, and prints the medians with their spread. */
const main = async (): Promise<void> => {
  using folder = openDataDir()
  const server = await startEmbedded({ dataDir: folder.path, log: () => {} })
  console.log(
    `${cpus()[0]?.model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  )
  console.log(
    `Node ${process.versions.node}, PostgreSQL ${server.version}, ${rounds} rounds of ${milliseconds} ms`,
  )
  {
    await using pool = openPool({ url: server.url, max: 16, applicationName: 'stemma-bench' })
    await migrate(pool)
    await using log = openLog({ pool, report: console.error })
    await using floor = await openFloor(server.url)
    const single = floor.contender({ writers: 64, batch: 1 })
    const rows: readonly Row[] = [
      {
        what: '64 concurrent sessions',
        must: 2,
        floor: single,
        ours: stemma(log, { writers: 64, sessions: 64, batch: 1 }),
      },
      {
        what: 'one session, sequential',
        must: 0.85,
        floor: floor.contender({ writers: 1, batch: 1 }),
        ours: stemma(log, { writers: 1, sessions: 1, batch: 1 }),
      },
      {
        what: '64 sessions, batches of 10',
        must: 0.9,
        floor: floor.contender({ writers: 64, batch: 10 }),
        ours: stemma(log, { writers: 64, sessions: 64, batch: 10 }),
      },
      {
        what: 'one session, 64 writers',
        must: 2,
        floor: single,
        ours: stemma(log, { writers: 64, sessions: 1, batch: 1 }),
      },
    ]
    const results = rows.map(() => ({ floor: [] as number[], ours: [] as number[] }))
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, row] of rows.entries()) {
        results[index]!.floor.push(await row.floor.round({ milliseconds }))
        results[index]!.ours.push(await row.ours.round({ milliseconds }))
      }
    }
    for (const [index, { what, must }] of rows.entries()) print(what, must, results[index]!)
  }
  await server.stop()
}

const print = (
  what: string,
  must: number,
  { floor, ours }: { readonly floor: readonly number[]; readonly ours: readonly number[] },
): void => {
  const ratios = ours.map((n, index) => n / floor[index]!)
  const [low, middle, high] = spread(ratios)
  const verdict = middle >= must ? 'reached' : 'missed'
  console.log(
    `${what.padEnd(28)} floor ${spread(floor)[1].toFixed(0).padStart(6)}/s  stemma ${spread(ours)[1].toFixed(0).padStart(6)}/s  ratio ${middle.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)}), must reach ${must}: ${verdict}`,
  )
}

const spread = (list: readonly number[]): [number, number, number] => {
  const sorted = list.toSorted((a, b) => a - b)
  return [sorted[0]!, sorted[sorted.length >> 1]!, sorted.at(-1)!]
}

await main()
