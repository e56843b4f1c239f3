import t from 'tap'
import { openTestDatabase } from './harness/database.ts'
import { startServer } from './harness/server-process.ts'
t.test('a', async (t) => {
  await using database = await openTestDatabase()
  await using s = await startServer({ DATABASE_URL: database.url }); console.log(await s.end('SIGTERM'))
  t.pass()
})
