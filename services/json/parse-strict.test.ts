import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../schema/errors.ts'
import { canonicalJson } from './canonical.ts'
import { mostLevels, parseStrict } from './parse-strict.ts'

const refusalOf = (body: Buffer | string): { pointer: string; detail: string } => {
  try {
    parseStrict(body)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_json') return error.faults[0]!
    throw error
  }
  throw new Error('it was accepted')
}

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('case 41: what would come back changed is refused, with a pointer to it', async (t) => {
  const cases: readonly [string, string][] = [
    ['{"a":{"b":[0,9007199254740993]}}', '/a/b/1'],
    ['{"n":1e400}', '/n'],
    ['{"n":-1e400}', '/n'],
    ['[-0]', '/0'],
    ['[1,-0.0]', '/1'],
    ['[-0e5]', '/0'],
    ['[0.1000000000000000055511151231257827]', '/0'],
    ['[123456789012345678901234567890]', '/0'],
    ['[5e-324, 3e-324]', '/1'],
    ['{"a":1,"b":{"x":1,"x":1}}', '/b/x'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    ['{"a/b~":[{"c":1e999}]}', '/a~1b~0/0/c'],
    ['{"k":[{},{"deep":[[],[-0]]}]}', '/k/1/deep/1/0'],
  ]
  for (const [body, pointer] of cases) t.equal(refusalOf(body).pointer, pointer, body)
})

t.test(
  'what is no JSON, no UTF-8, or begins with a byte order mark is refused, and not quoted',
  async (t) => {
    for (const body of ['', '{', '{"secret":tru}', "{'a':1}", '[1,]', '01', 'NaN', '"\u0001"']) {
      t.notMatch(JSON.stringify(refusalOf(body)), /secret/, body)
    }
    t.match(refusalOf(Buffer.from([0x22, 0xff, 0x22])).detail, /UTF-8/)
    t.match(
      refusalOf(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).detail,
      /UTF-8/,
      'a surrogate in UTF-8',
    )
    t.match(refusalOf(Buffer.from([0xef, 0xbb, 0xbf, 0x31])).detail, /byte order mark/)
  },
)

t.test('512 levels are kept, one more is refused', async (t) => {
  t.same(parseStrict(nested(mostLevels)), JSON.parse(nested(mostLevels)))
  t.match(refusalOf(nested(mostLevels + 1)).detail, /512 levels/)
  t.match(refusalOf('{"a":'.repeat(513) + '1' + '}'.repeat(513)).detail, /512 levels/)
})

t.test(
  'everything that is accepted survives being kept: NUL, lone surrogates, __proto__, numbers',
  async (t) => {
    const keep = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
    for (const body of [
      '"\\u0000\\ud800\\udc00\\ud800"',
      '{"__proto__":{"a":1},"constructor":2}',
      '[0.1,1.0,1e2,5e-324,1.7976931348623157e308,9007199254740992,-1.50]',
      '"\\\\\\""',
    ]) {
      t.same(keep(parseStrict(body)), JSON.parse(body), body)
    }
    t.ok(Object.hasOwn(parseStrict('{"__proto__":1}') as object, '__proto__'))
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.boolean(), (value, pretty) => {
        const text = JSON.stringify(value, null, pretty ? 2 : 0)
        if (/-0(?![.\d])/.test(text)) return
        t.same(parseStrict(Buffer.from(text)), JSON.parse(text))
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        if (Object.is(number, -0)) return
        t.equal(parseStrict(String(number)), number)
        t.equal(parseStrict(number.toExponential()), number)
      }),
      { numRuns: 500 },
    )
  },
)

t.test(
  'canonical text is the same for the same members in any order, and for nothing else',
  async (t) => {
    t.equal(
      canonicalJson({ b: [1, { d: 1, c: 2 }], a: '\u0000' }),
      canonicalJson({ a: '\u0000', b: [1, { c: 2, d: 1 }] }),
    )
    t.not(canonicalJson({ a: 1 }), canonicalJson({ a: '1' }))
    t.not(canonicalJson([1, 2]), canonicalJson([2, 1]))
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        t.same(JSON.parse(canonicalJson(value)), JSON.parse(JSON.stringify(value)))
      }),
    )
  },
)
