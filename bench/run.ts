import { parseArgs } from 'node:util'
import { measure } from './measure.ts'
import { print } from './print.ts'
import { planned, rows } from './rows/all.ts'
import { openWorld } from './world.ts'

/** `npm run bench`, `npm run bench -- sessions http --rounds 9 --ms 1000`. */
const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '7' },
      ms: { type: 'string', default: '2000' },
      'hold-ms': { type: 'string', default: '10000' },
      'long-session': { type: 'string', default: '100000' },
      list: { type: 'boolean', default: false },
    },
  })
  const unknown = positionals.find((name) => !rows.some((row) => row.name === name))
  if (unknown !== undefined) throw new Error(`there is no row ${unknown}; --list says which`)
  if (values.list) {
    for (const { name, about } of rows) console.log(`${name.padEnd(14)} ${about}`)
    for (const { name, about } of planned) console.log(`${name.padEnd(14)} ${about} (not yet)`)
    return
  }
  const options = {
    rounds: Number(values.rounds),
    milliseconds: Number(values.ms),
    holdMilliseconds: Number(values['hold-ms']),
    longSession: Number(values['long-session']),
  }
  using world = await openWorld(options)
  for (const line of world.describe()) console.log(line)
  const chosen = positionals.length === 0 ? rows : rows.filter((r) => positionals.includes(r.name))
  for (const row of chosen) {
    await using open = await row.open(world)
    console.log(print(row, await measure(open, options)))
  }
  console.log(`\n${world.describe()[0]}`)
}

await main()
