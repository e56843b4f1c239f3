import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

t.test('every rule of the protocol names a test, and the test is there', async (t) => {
  const page = read('docs/protocol.md')
  const rows = page.split('\n').filter((line) => /^\| ([LTS]?\d+) \|/.test(line))
  t.ok(rows.length >= 30, `${rows.length} rules`)
  for (const row of rows) {
    const [, rule, , ...cells] = row.split('|').map((cell) => cell.trim())
    const named = cells.join(' ').match(/`[\w/.-]+\.test\.ts`/g) ?? []
    if (cells.join(' ').includes('see above')) continue
    t.ok(named.length > 0, `rule ${rule} names a test`)
  }
  for (const [, path = ''] of page.matchAll(/`([\w/.-]+\.test\.ts)`/g)) {
    const places = [path, `services/log/rules/${path}`]
    t.ok(
      places.some((place) => existsSync(new URL(place, root))),
      path,
    )
  }
})

t.test(
  'every title that a rule names is that of a test of its, in the file beside it',
  async (t) => {
    const rows = read('docs/protocol.md')
      .split('\n')
      .filter((line) => /^\| \d+ \|/.test(line))
    const named = rows.flatMap((row) => {
      const rule = row.split('|')[1]?.trim()
      return [...row.matchAll(/`([\w-]+\.test\.ts)`: (“[^|;]*”)/g)].flatMap(([, file, titles]) =>
        [...(titles ?? '').matchAll(/“([^”]*)”/g)].map(([, title]) => ({ rule, file, title })),
      )
    })
    t.ok(named.length >= 30, `${named.length} titles`)
    t.same(new Set(named.map(({ rule }) => Number(rule))), new Set(range(4, 19)))
    for (const { rule, file, title } of named) {
      t.match(read(`services/log/rules/${file}`), `'rule ${rule}: ${title}'`, `${rule} in ${file}`)
    }
  },
)

const range = (from: number, through: number): number[] =>
  Array.from({ length: through - from + 1 }, (_, n) => from + n)

t.test('every page that the README names is there', async (t) => {
  const readme = read('README.md')
  for (const [, path = ''] of readme.matchAll(/\]\((docs\/[^)]*)\)/g)) {
    t.ok(existsSync(new URL(path, root)), path)
  }
})
