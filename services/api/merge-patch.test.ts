import fc from 'fast-check'
import t from 'tap'
import { changesOf, mergePatch } from './merge-patch.ts'

const sorted = (value: unknown): string =>
  JSON.stringify(Object.entries(value as object).toSorted(([a], [b]) => (a < b ? -1 : 1)))

t.test("mergePatch does what RFC 7396's examples say", (t) => {
  const examples: readonly [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, result] of examples) {
    t.strictSame(mergePatch(target, patch), result, JSON.stringify([target, patch]))
  }
  t.end()
})

t.test('__proto__ is a key like any other', (t) => {
  const patch = JSON.parse('{"__proto__":{"x":1},"a":{"__proto__":null}}') as object
  const made = mergePatch(JSON.parse('{"a":{"__proto__":5}}'), patch)
  t.equal(JSON.stringify(made), '{"a":{},"__proto__":{"x":1}}')
  t.equal(({} as { x?: number }).x, undefined)
  t.end()
})

t.test(
  'what changesOf sets and removes makes of an object what the patch makes of it',
  async () => {
    const key = fc.constantFrom('a', 'b', '__proto__', 'constructor')
    const object = fc.dictionary(key, fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(object, fc.option(object), (before, patch) => {
        const current = JSON.parse(JSON.stringify(before)) as Record<string, unknown>
        const { set, unset } = changesOf(current, patch)
        const made = Object.fromEntries(
          Object.entries({ ...current, ...set }).filter(([name]) => !unset.includes(name)),
        )
        const wanted = patch === null ? {} : mergePatch(current, patch)
        return sorted(made) === sorted(wanted)
      }),
    )
  },
)
