import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { recordingFile } from '../../test/harness/opencode-messages.ts'
import { readSource } from './read-source.ts'

const session = readFileSync(recordingFile('unicode'), 'utf8')
const value = JSON.parse(session) as unknown

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()
const marked = (mark: readonly number[], body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(mark), body])

const refuses = (bytes: Buffer | string, detail: RegExp, t: Test): void => {
  t.throws(() => readSource(Buffer.from(bytes)), { name: 'NotTranslatable', message: detail })
}

t.test('a file that is JSON comes in as it is, and nothing is mended', async (t) => {
  t.same(readSource(Buffer.from(session)), { value, mended: [] })
  t.same(readSource(Buffer.from(`\n  ${session}\r\n`)).mended, [])
})

t.test('case 45: UTF-16 and byte order marks are read, and said', async (t) => {
  const files = {
    'a byte order mark was removed': marked([0xef, 0xbb, 0xbf], Buffer.from(session)),
    'the file was UTF-16 with a byte order mark': marked(
      [0xff, 0xfe],
      Buffer.from(session, 'utf16le'),
    ),
    'the file was UTF-16 without a byte order mark': utf16be(session),
  }
  for (const [mended, bytes] of Object.entries(files)) {
    t.same(readSource(bytes), { value, mended: [mended] })
  }
  t.same(readSource(marked([0xfe, 0xff], utf16be(session))).value, value)
  t.same(readSource(Buffer.from(session, 'utf16le')).value, value)
  t.same(readSource(Buffer.concat([Buffer.from(session, 'utf16le'), Buffer.from('x')])), {
    value,
    mended: [
      'the file was UTF-16 without a byte order mark',
      'half a character at the end of the file was left',
    ],
  })
})

t.test(
  'case 45: status lines before the JSON and what follows it are left, and said',
  async (t) => {
    const before = 'Exporting session: ses_1\n[info] 3 of 3 {done}\n{"level":"info"}\n'
    t.same(readSource(Buffer.from(before + session)), {
      value,
      mended: [`3 lines (${before.trim().length} characters) before the JSON were left`],
    })
    const after = '\ndone in 3 s\n{"session":{"id":"ses_2","history":['
    t.match(readSource(Buffer.from(session + after)), {
      value,
      mended: [/^2 lines \(\d+ characters\) after the JSON were left$/],
    })
    const pretty = JSON.stringify(value, undefined, 2)
    t.same(readSource(Buffer.from(`reading…\r\n${pretty}\r\nbye`)).value, value)
  },
)

t.test('brackets and quotes inside texts do not mislead', async (t) => {
  const tricky = { session: '}]"\\"{[\n{', history: ['\\', '"', '{"'] }
  const text = `note: "unfinished\n${JSON.stringify(tricky, undefined, 1)}\n}`
  t.same(readSource(Buffer.from(text)).value, tricky)
})

t.test('a file that is torn inside its JSON is refused, and where it begins is said', async (t) => {
  refuses(session.slice(0, -2), /ends inside its JSON, which begins at line 1$/, t)
  refuses(`Exporting\n${session.slice(0, 500)}`, /which begins at line 2$/, t)
  // A whole status line is not taken for the session.
  refuses(`{"level":"info"}\n${session.slice(0, 500)}`, /which begins at line 2$/, t)
})

t.test('what is no JSON is refused', async (t) => {
  refuses('', /empty/, t)
  refuses(' \n', /empty/, t)
  refuses('hello', /holds no JSON/, t)
  refuses('{a: 1}', /holds no JSON/, t)
  refuses(Buffer.from([0x7b, 0xff, 0x7d]), /neither UTF-8 nor UTF-16/, t)
})

t.test('what would not come back as it went in is refused with its place', async (t) => {
  refuses('{"a":[1,9007199254740993]}', /\/a\/1 is a number that would come back/, t)
  refuses('{"a":1,"a":2}', /\/a is there twice/, t)
  refuses('status\n{"a":-0}', /\/a is -0/, t)
  t.same(readSource(Buffer.from('{"a":"\\u0000\\ud800","__proto__":1.5}')).mended, [])
})

t.test('lone surrogates of a UTF-16 file come in as they are', async (t) => {
  const { value } = readSource(marked([0xff, 0xfe], Buffer.from('["\ud800"]', 'utf16le')))
  t.same(value, ['\ud800'])
})
