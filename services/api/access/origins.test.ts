import t from 'tap'
import { Refusal } from '../../../schema/errors.ts'
import { checkOrigin, checkSocketOrigin } from './origins.ts'

type Rules = Parameters<typeof checkOrigin>[1]

const local: Rules = {
  host: '127.0.0.1',
  origins: ['https://pages.example'],
  tokensFile: undefined,
}
const exposed: Rules = { ...local, host: '0.0.0.0', tokensFile: '/tokens.json' }
const behindProxy: Rules = { ...exposed, host: '127.0.0.1' }

/** Whether both checks let it pass; they must agree, and refuse in one way. */
const passes = (headers: Parameters<typeof checkOrigin>[0], rules: Rules): boolean => {
  const [plain, socket] = [checkOrigin, checkSocketOrigin].map((check) => {
    try {
      check(headers, rules)
      return true
    } catch (error) {
      if (error instanceof Refusal && error.code === 'forbidden') return false
      throw error
    }
  })
  if (plain !== socket) throw new Error('the two checks differ')
  return plain!
}

t.test('who sends no Origin is a program and passes', async (t) => {
  t.ok(passes({ host: 'anything.example' }, exposed))
  t.ok(passes({}, exposed))
  t.ok(passes({ host: 'localhost:4600' }, local))
})

t.test('a page passes whose origin is the server itself, by whatever scheme', async (t) => {
  for (const [origin, host] of [
    ['https://stemma.example', 'stemma.example'],
    ['http://stemma.example:4600', 'stemma.example:4600'],
    ['https://stemma.example', 'stemma.example:443'],
    ['https://stemma.example', 'STEMMA.example'],
    ['http://[2001:db8::1]:4600', '[2001:db8::1]:4600'],
  ] as const) {
    t.ok(passes({ origin, host }, exposed), origin)
    t.ok(passes({ origin, host }, behindProxy), origin)
  }
  t.ok(passes({ origin: 'https://pages.example', host: 'stemma.example' }, exposed), 'a listed one')
})

t.test('a page of any other origin is refused', async (t) => {
  for (const [origin, host] of [
    ['https://other.example', 'stemma.example'],
    ['https://stemma.example:8443', 'stemma.example'],
    ['https://sub.stemma.example', 'stemma.example'],
    ['http://pages.example', 'stemma.example'],
    ['https://pages.example.evil.example', 'stemma.example'],
    ['null', 'stemma.example'],
    ['null', 'null'],
    ['', 'stemma.example'],
    ['tauri://stemma.example', 'stemma.example'],
    ['https://stemma.example', undefined],
    ['https://x@stemma.example, https://pages.example', 'stemma.example'],
  ] as const) {
    t.notOk(passes({ origin, host }, exposed), origin)
  }
  t.notOk(passes({ origin: 'http://localhost:5173', host: 'stemma.example' }, exposed))
})

t.test('on loopback pages of this machine pass, with tokens and without', async (t) => {
  for (const rules of [local, behindProxy]) {
    t.ok(passes({ origin: 'http://localhost:5173', host: '127.0.0.1:4600' }, rules))
    t.ok(passes({ origin: 'http://[::1]:5173', host: 'localhost:4600' }, rules))
    t.ok(passes({ origin: 'https://pages.example', host: 'localhost:4600' }, rules))
  }
})

t.test(
  'without tokens a Host that is not this machine is refused, also as its own origin',
  async (t) => {
    t.notOk(passes({ host: 'bent.example' }, local))
    t.notOk(passes({ origin: 'http://bent.example', host: 'bent.example' }, local))
    t.notOk(passes({ origin: 'https://pages.example', host: 'bent.example' }, local))
  },
)
