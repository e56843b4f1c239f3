import { readFileSync } from 'node:fs'
import t from 'tap'
import { errorTable } from './errors.ts'

t.test(
  'every code is documented with its status, whether it may be sent again, and its title, and nothing else is',
  async (t) => {
    const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
    const documented = page
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, code, status, again, title]) => [
        code?.replaceAll('`', ''),
        Number(status),
        again === 'yes',
        title,
      ])
    const table = Object.entries(errorTable).map(([code, row]) => [
      code,
      row.status,
      row.retry,
      row.title,
    ])
    t.same(documented, table)
  },
)
