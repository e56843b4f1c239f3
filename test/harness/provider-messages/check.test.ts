import t, { type Test } from 'tap'
import { brokenOfAnthropic, type AnthropicBlock, type AnthropicMessage } from './anthropic.ts'
import { brokenOfChat, type ChatMessage } from './openai-chat.ts'
import { brokenOfResponses, type ResponseItem } from './openai-responses.ts'

type Table<T> = Readonly<Record<string, readonly [list: readonly T[], broken: RegExp]>>

const checkAll = <T>(
  t: Test,
  broken: (list: readonly T[]) => string[],
  good: readonly T[],
  bad: Table<T>,
): void => {
  t.same(broken(good), [], 'a good list breaks none')
  for (const [name, [list, rule]] of Object.entries(bad)) {
    const found = broken(list)
    t.equal(found.length, 1, `${name}: ${found.join('; ')}`)
    t.match(found[0], rule, name)
  }
}

const text = (said: string): AnthropicBlock => ({ type: 'text', text: said })
const thought = (signature = 's'): AnthropicBlock => ({
  type: 'thinking',
  thinking: 'hm',
  signature,
})
const use = (id: string, input: unknown = {}, name = 'bash'): AnthropicBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
})
const result = (id: string, content = [text('done')], isError = false): AnthropicBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  is_error: isError,
  content,
})
const user = (...content: AnthropicBlock[]): AnthropicMessage => ({ role: 'user', content })
const model = (...content: AnthropicBlock[]): AnthropicMessage => ({ role: 'assistant', content })
const begin = user(text('do it'))

t.test('the rules of Anthropic’s Messages: each is seen to be broken', async (t) =>
  checkAll(
    t,
    brokenOfAnthropic,
    [
      begin,
      model(thought(), text('yes'), use('a'), use('b')),
      user(result('b')),
      user(result('a', [], false), text('and?')),
      model(text('done')),
    ],
    {
      'an assistant first': [[model(text('hello'))], /first message/],
      'no content': [[begin, model()], /no content/],
      'an empty text': [[begin, model(text(''))], /empty/],
      'a text of blanks': [[user(text(' \n'))], /empty/],
      'a result of no call': [[user(result('a'))], /no call before/],
      'a result a message too late': [
        [begin, model(use('a')), user(result('a')), model(text('x')), user(result('a'))],
        /no call before/,
      ],
      'a call without a result': [
        [begin, model(use('a')), user(text('go on'))],
        /no result of a directly/,
      ],
      'a call at the end': [[begin, model(use('a'))], /nothing follows/],
      'one result of two': [
        [begin, model(use('a'), use('b')), user(result('a'))],
        /no result of b directly/,
      ],
      'two results': [[begin, model(use('a')), user(result('a'), result('a'))], /two results/],
      'a result after a text': [
        [begin, model(use('a')), user(text('wait')), user(result('a'))],
        /after a text/,
      ],
      'an id twice': [
        [begin, model(use('a')), user(result('a')), model(use('a')), user(result('a'))],
        /twice/,
      ],
      'a strange id': [[begin, model(use('a.b')), user(result('a.b'))], /no id/],
      'no name': [[begin, model(use('a', {}, '')), user(result('a'))], /no name/],
      'an input that is a list': [[begin, model(use('a', [])), user(result('a'))], /no object/],
      'no input': [[begin, model(use('a', null)), user(result('a'))], /no object/],
      'an error without content': [
        [begin, model(use('a')), user(result('a', [], true))],
        /has no content/,
      ],
      'an empty text in a result': [
        [begin, model(use('a')), user(result('a', [text('')]))],
        /of the result of a is empty/,
      ],
      'a thought at the end': [[begin, model(text('x'), thought())], /ends with a thought/],
      'a thought that nobody signed': [[begin, model(thought(''), text('x'))], /no signature/],
      'half a character': [[user(text('x\ud800'))], /Unicode/],
    },
  ),
)

const says = (said: string): ChatMessage => ({
  role: 'user',
  content: [{ type: 'text', text: said }],
})
const calls = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'bash', arguments: '{}' },
  })),
})
const callOf = (name: string, args: string): ChatMessage => ({
  role: 'assistant',
  tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: args } }],
})
const tool = (id: string, content = 'done'): ChatMessage => ({
  role: 'tool',
  tool_call_id: id,
  content,
})

t.test('the rules of OpenAI’s Chat Completions: each is seen to be broken', async (t) =>
  checkAll(
    t,
    brokenOfChat,
    [
      { role: 'system', content: 'be good' },
      says('do it'),
      calls('a', 'b'),
      tool('b'),
      tool('a'),
      says('and?'),
      { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
    ],
    {
      'nothing said': [[{ role: 'assistant' }], /neither/],
      'no calls in tool_calls': [[{ role: 'assistant', tool_calls: [] }], /empty/],
      'no content': [[{ role: 'user', content: [] }], /no content/],
      'an empty text': [[says('')], /empty/],
      'an empty text of the assistant': [
        [{ role: 'assistant', content: [{ type: 'text', text: '\n' }] }],
        /empty/,
      ],
      'an empty system text': [[{ role: 'system', content: '' }], /empty/],
      'a result of no call': [[says('x'), tool('a')], /no call before/],
      'a call without a result': [[calls('a'), says('x')], /no result of a directly/],
      'a call at the end': [[says('x'), calls('a')], /at the end/],
      'one result of two': [[calls('a', 'b'), tool('a')], /no result of b/],
      'two results': [[calls('a'), tool('a'), tool('a')], /two results/],
      'an id twice': [[calls('a'), tool('a'), calls('a'), tool('a')], /twice/],
      'a long id': [[calls('a'.repeat(41)), tool('a'.repeat(41))], /no id/],
      'a strange name': [[callOf('a.b', '{}'), tool('a')], /no name/],
      'arguments that are no JSON': [[callOf('bash', '{"a'), tool('a')], /no JSON/],
      'an empty result': [[calls('a'), tool('a', '')], /empty/],
      'half a character': [[says('x\udc00')], /Unicode/],
    },
  ),
)

t.test('a result that comes later than directly after is broken twice in a chat', async (t) => {
  const broken = brokenOfChat([calls('a'), says('wait'), tool('a')])
  t.match(broken, [/no result of a directly after/, /no call before it/])
})

const said = (role: 'user' | 'assistant', words: string, type?: string): ResponseItem => ({
  type: 'message',
  role,
  content: [{ type: type ?? (role === 'user' ? 'input_text' : 'output_text'), text: words }],
})
const call = (id: string, name = 'bash', args = '{}'): ResponseItem => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: args,
})
const output = (id: string, words = 'done'): ResponseItem => ({
  type: 'function_call_output',
  call_id: id,
  output: words,
})
const reasoning = (sealed = 's'): ResponseItem => ({
  type: 'reasoning',
  summary: [],
  encrypted_content: sealed,
})

t.test('the rules of OpenAI’s Responses: each is seen to be broken', async (t) =>
  checkAll(
    t,
    brokenOfResponses,
    [
      said('user', 'do it'),
      reasoning(),
      reasoning(),
      call('a'),
      call('b'),
      output('b'),
      output('a'),
      reasoning(),
      said('assistant', 'done'),
    ],
    {
      'no content': [[{ type: 'message', role: 'user', content: [] }], /no content/],
      'an empty text': [[said('assistant', '')], /empty/],
      'a text of the wrong side': [[said('user', 'x', 'output_text')], /no output_text of user/],
      'a result of no call': [[call('b'), output('b'), output('a')], /no call before/],
      'a result before its call': [[output('a'), call('a')], /no call before/],
      'a call without a result': [[call('a'), said('user', 'x')], /no result of a/],
      'two results': [[call('a'), output('a'), output('a')], /two results/],
      'an id twice': [[call('a'), call('a'), output('a')], /twice/],
      'a long id': [[call('a'.repeat(65)), output('a'.repeat(65))], /no id/],
      'a strange name': [[call('a', ''), output('a')], /no name/],
      'arguments that are no JSON': [[call('a', 'bash', 'x'), output('a')], /no JSON/],
      'an empty result': [[call('a'), output('a', '')], /empty/],
      'a thought that led to nothing': [
        [reasoning(), said('user', 'x')],
        /nothing follows a thought/,
      ],
      'a thought at the end': [[said('assistant', 'x'), reasoning()], /nothing follows a thought/],
      'a thought that nobody sealed': [[reasoning(''), said('assistant', 'x')], /sealed/],
      'half a character': [[said('user', 'x\udc00')], /Unicode/],
    },
  ),
)
