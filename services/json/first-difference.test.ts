import t from 'tap'
import { firstDifference } from './first-difference.ts'

t.test('the first place at which two values differ is named, whatever the order', async (t) => {
  const same = { a: 1, b: [{ c: null }] }
  t.equal(firstDifference(same, { b: [{ c: null }], a: 1 }), undefined)
  t.equal(firstDifference(same, { ...same, b: [{ c: 1 }] }), '/b/0/c')
  t.equal(firstDifference(same, { a: 1 }), '/b')
  t.equal(firstDifference({ 'x/~': 1 }, { 'x/~': 2 }), '/x~1~0')
  t.equal(firstDifference([], {}), '')
  t.equal(firstDifference([1], [1, 2]), '/1')
  t.equal(firstDifference(1, '1'), '')
})
