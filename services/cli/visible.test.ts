import fc from 'fast-check'
import t from 'tap'
import { visible, visibleLine } from './visible.ts'
import { jsonText } from './write-out.ts'

// What a terminal acts on, or turns its letters around by.
// oxlint-disable-next-line no-control-regex
const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

t.test('no text can drive the terminal: what could is shown', async (t) => {
  t.equal(visible('\u001b[2J\u001b]0;title\u0007'), '␛[2J␛]0;title␇')
  t.equal(visible('a\rb\u0000c\u007fd'), 'a␍b␀c␡d')
  t.equal(visible('\u009b31m'), '<U+009B>31m')
  t.equal(visible('safe\u202egnp.exe'), 'safe<U+202E>gnp.exe')
  t.equal(visible('half \ud83d pair'), 'half <U+D83D> pair')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      t.notMatch(visible(text), dangerous)
      t.notMatch(visibleLine(text), /[\n\t]/)
    }),
  )
})

t.test('what is only text stays as it is', async (t) => {
  for (const text of ['naïve 日本語', '👩‍👩‍👧 👍🏽', 'two\nlines\tand a tab', 'עברית']) {
    t.equal(visible(text), text)
  }
  t.equal(visibleLine('two\nlines'), 'two⏎lines')
})

t.test('JSON says the same, and drives no terminal either', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = jsonText({ text })
      t.same(JSON.parse(json), { text })
      t.notMatch(json.replaceAll('\n', ''), dangerous)
    }),
  )
})
