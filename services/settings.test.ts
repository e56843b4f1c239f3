import t from 'tap'
import { resolve } from 'node:path'
import { readSettings } from './settings.ts'

t.test('without an environment every setting has its default', async (t) => {
  const settings = readSettings({})
  t.match(settings, {
    host: '127.0.0.1',
    port: 4600,
    dataDir: resolve('.stemma'),
    url: 'http://127.0.0.1:4600',
    maxEventBytes: 1_048_576,
    maxBodyBytes: 8_388_608,
    maxPage: 500,
  })
  t.equal(settings.databaseUrl, undefined)
  t.equal(settings.token, undefined)
  t.ok(Object.isFrozen(settings))
})

t.test('an empty setting counts as not set', async (t) => {
  const settings = readSettings({ STEMMA_PORT: '', DATABASE_URL: '', STEMMA_TOKEN: '' })
  t.equal(settings.port, 4600)
  t.equal(settings.databaseUrl, undefined)
})

t.test('numbers are read from text', async (t) => {
  t.equal(readSettings({ STEMMA_PORT: '0' }).port, 0)
  t.equal(readSettings({ STEMMA_MAX_EVENT_BYTES: '2048' }).maxEventBytes, 2048)
})

t.test('every bad setting is named, with what it must be', async (t) => {
  const bad = { STEMMA_PORT: '70000', STEMMA_POOL_SIZE: 'many', STEMMA_URL: 'stemma.local' }
  t.throws(() => readSettings(bad), {
    name: 'SettingsError',
    message: /STEMMA_PORT="70000" must be <= 65535/,
  })
  t.throws(() => readSettings(bad), { message: /STEMMA_POOL_SIZE="many" must be integer/ })
  t.throws(() => readSettings(bad), { message: /STEMMA_URL="stemma.local" must match pattern/ })
  t.throws(() => readSettings({ STEMMA_PORT: '46.5' }), { message: /must be integer/ })
  t.throws(() => readSettings({ STEMMA_MAX_PAGE: '20' }), { message: /STEMMA_DEFAULT_PAGE/ })
})

t.test('the value of a secret is not in the error', async (t) => {
  try {
    readSettings({ DATABASE_URL: 'mysql://me:hush@there/db' })
    t.fail('it was taken')
  } catch (error) {
    t.ok(error instanceof Error && error.message.includes('DATABASE_URL'))
    t.notOk(error instanceof Error && error.message.includes('hush'))
  }
})

t.test('origins are taken as browsers send them, and nothing else is', async (t) => {
  const origins = (text: string) => readSettings({ STEMMA_ORIGINS: text }).origins
  t.same(origins(''), [])
  t.same(origins(' https://a.example, http://b.example:8080,,tauri://localhost'), [
    'https://a.example',
    'http://b.example:8080',
    'tauri://localhost',
  ])
  for (const bad of [
    '*',
    'null',
    'a.example',
    'https://a.example/',
    'https://a.example:443',
    'https://A.example',
    'https://*.example/x',
    'https://me@a.example',
    'tauri://',
  ]) {
    t.throws(() => origins(`https://good.example,${bad}`), {
      name: 'SettingsError',
      message: `STEMMA_ORIGINS: ${JSON.stringify(bad)} must be an origin`,
    })
  }
})

t.test('a token that no header can carry is a wrong setting, and not shown', async (t) => {
  t.equal(readSettings({ STEMMA_TOKEN: 'stm_a-b.c~d+e/f==' }).token, 'stm_a-b.c~d+e/f==')
  for (const bad of ['hush\nhush', 'hush hush', 'hüsh', '"hush"']) {
    try {
      readSettings({ STEMMA_TOKEN: bad })
      t.fail('it was taken')
    } catch (error) {
      t.match(error, { name: 'SettingsError', message: /^STEMMA_TOKEN must match/ })
      t.notMatch(String(error), /h.sh/)
    }
  }
})
