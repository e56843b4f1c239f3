import t from 'tap'
import { openPreview, wrap } from './preview.ts'

t.test('a preview removes as many rows as it has drawn', async (t) => {
  const preview = openPreview(() => ({ columns: 11, rows: 24 }))
  t.equal(preview.clear(), '')
  t.equal(preview.draw('one\ntwo and more'), 'one\ntwo and mo\nre')
  t.equal(preview.draw('x'), '\r\u001b[2A\u001b[Jx')
  t.equal(preview.clear(), '\r\u001b[J')
  t.equal(preview.clear(), '')
})

t.test('a preview keeps to its last rows, and within the terminal', async (t) => {
  const preview = openPreview(() => ({ columns: 80, rows: 5 }))
  t.equal(preview.draw('1\n2\n3\n4\n5'), '3\n4\n5')
})

t.test('wide characters take two columns', async (t) => {
  t.same(wrap('日本語', 4), ['日本', '語'])
  t.same(wrap('日', 1), ['日'])
  t.same(wrap('', 4), [''])
})
