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

t.test('every page that the README names is there', async (t) => {
  const readme = read('README.md')
  for (const [, path = ''] of readme.matchAll(/\]\((docs\/[^)]*)\)/g)) {
    t.ok(existsSync(new URL(path, root)), path)
  }
})
