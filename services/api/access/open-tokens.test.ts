import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openDataDir } from '../../../test/harness/data-dir.ts'
import { hashOf } from './hash-of.ts'
import { openTokens } from './open-tokens.ts'

const entryOf = (token: string) => ({
  sha256: hashOf(token),
  tenant: 'team',
  subject: `holder of ${token.length}`,
  scopes: ['read'],
})

const folderOf = (t: Test) => {
  const folder = openDataDir()
  t.teardown(() => folder[Symbol.dispose]())
  const file = join(folder.path, 'tokens.json')
  const write = (...tokens: readonly string[]) =>
    writeFileSync(file, JSON.stringify(tokens.map(entryOf)), { mode: 0o600 })
  const said: string[] = []
  const open = (everyMs = 3_600_000) =>
    openTokens({ file, everyMs, say: (line) => void said.push(line) })
  return { file, write, said, open }
}

t.test('a token is found by its hash, and no other text is', async (t) => {
  const { write, open, said } = folderOf(t)
  write('one', 'two-two')
  using tokens = await open()
  t.match(tokens.find('one'), { tenant: 'team', subject: 'holder of 3', scopes: ['read'] })
  t.match(tokens.find('two-two'), { subject: 'holder of 7' })
  for (const wrong of ['', 'One', 'one ', hashOf('one')]) t.equal(tokens.find(wrong), undefined)
  t.same(said, [])
})

t.test('when the file changes, what was taken out is taken no more', async (t) => {
  const { file, write, open, said } = folderOf(t)
  write('one', 'two')
  using tokens = await open()
  write('two', 'new')
  await tokens.readAgain()
  t.equal(tokens.find('one'), undefined)
  t.ok(tokens.find('two'))
  t.ok(tokens.find('new'))
  await tokens.readAgain()
  t.same(said, [`STEMMA_TOKENS_FILE=${file}: read again, 2 tokens are taken`])
})

t.test('the file is looked at by itself, also when another takes its place', async (t) => {
  const { file, write, open } = folderOf(t)
  write('one')
  using tokens = await open(5)
  writeFileSync(`${file}.new`, JSON.stringify([entryOf('two')]))
  renameSync(`${file}.new`, file)
  while (tokens.find('one')) await sleep(5)
  t.ok(tokens.find('two'))
})

t.test(
  'a new file that is faulty or gone is reported once, and the tokens stay as they were',
  async (t) => {
    const { file, write, open, said } = folderOf(t)
    write('one')
    using tokens = await open()
    for (const spoil of [
      () => writeFileSync(file, '[{"sha256":"hush"}]'),
      () => writeFileSync(file, ''),
      () => rmSync(file),
    ]) {
      spoil()
      await tokens.readAgain()
      await tokens.readAgain()
      t.ok(tokens.find('one'))
    }
    t.equal(said.length, 3)
    t.match(said[0], /entry 1: sha256 must be[^]*\nthe tokens stay as they were$/)
    t.match(said[1], /it is not JSON[^]*\nthe tokens stay as they were$/)
    t.match(said[2], /it cannot be read \(ENOENT\)\nthe tokens stay as they were$/)
    t.notMatch(said.join('\n'), /hush/)
    write('two')
    await tokens.readAgain()
    t.equal(tokens.find('one'), undefined, 'a good one is taken again')
    t.ok(tokens.find('two'))
  },
)

t.test('at the start a file that is faulty or not there is an error', async (t) => {
  const { file, open } = folderOf(t)
  await t.rejects(open(), { message: `STEMMA_TOKENS_FILE=${file}: it cannot be read (ENOENT)` })
  writeFileSync(file, '[]')
  await t.rejects(open(), { name: 'SettingsError', message: 'it has no entry' })
})

t.test('a file that all users can read is warned about', async (t) => {
  const { file, write, open, said } = folderOf(t)
  write('one')
  chmodSync(file, 0o644)
  using tokens = await open()
  t.match(said, [/all users of this machine can read it/])
  t.ok(tokens.find('one'), 'and served all the same')
})
