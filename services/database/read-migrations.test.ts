import t from 'tap'
import { parseMigration, readMigrations } from './read-migrations.ts'

t.test('a migration is parted at its marker lines and nowhere else', async (t) => {
  const migration = parseMigration(
    '0007_more_things.sql',
    `-- oldest writer: 3
-- Why it is so.
create function f() returns int language sql as $$ select 1; -- statement inside
$$
-- statement
-- A comment of the second.
select 2
-- statement
`,
  )
  t.match(migration, { version: 7, name: 'more_things', oldestWriter: 3, inTransaction: true })
  t.equal(migration.statements.length, 2)
  t.match(migration.statements[0]!, /select 1; -- statement inside/)
  t.match(migration.statements[1]!, /^-- A comment[^]*select 2$/)
})

t.test('what cannot run in a transaction says so in its header', async (t) => {
  const text = '-- oldest writer: 1\n-- no transaction\ncreate index concurrently i on stemma.t (n)'
  t.equal(parseMigration('0002_index.sql', text).inTransaction, false)
})

t.test('a file without its oldest writer, or with another name, is refused', async (t) => {
  t.throws(() => parseMigration('0001_log.sql', 'select 1'), /oldest writer/)
  t.throws(() => parseMigration('1_log.sql', '-- oldest writer: 1\nselect 1'), /NNNN_name/)
})

t.test('the migrations of this build are numbered from 1 without a gap', async (t) => {
  const versions = readMigrations().map(({ version }) => version)
  t.strictSame(
    versions,
    versions.map((_, index) => index + 1),
  )
  t.ok(readMigrations().every(({ version, oldestWriter }) => oldestWriter <= version))
})
