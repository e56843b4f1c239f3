import { readFileSync, readdirSync } from 'node:fs'
import t from 'tap'
import { readSource } from './read-source.ts'
import { recognise } from './recognise.ts'

const folder = new URL('../../test/recordings/opencode-v2/', import.meta.url)

t.test('every recording is recognised by its content', async (t) => {
  for (const file of readdirSync(folder)) {
    const { value } = readSource(readFileSync(new URL(file, folder)))
    t.equal(recognise(value)?.name, 'opencode-v2', file)
  }
})

t.test('what is no session is not taken for one', async (t) => {
  for (const value of [
    null,
    [],
    {},
    'session',
    { session: { id: 'ses_1' } },
    { session: {}, history: [] },
    { session: { id: 'ses_1' }, history: [{ type: 'other', data: {} }] },
    { info: { id: 'ses_1' }, messages: [] },
  ]) {
    t.equal(recognise(value), undefined)
  }
  t.equal(recognise({ session: { id: 'ses_1' }, history: [] })?.name, 'opencode-v2')
})
