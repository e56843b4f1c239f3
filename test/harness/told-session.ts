/**
 * A session `s` in which all that `stemma show` tells beside messages happens, written through a
 * service: an attempt that is tried again, requests that are answered or closed in some ways, a
 * take-over with a call that nobody knows, an interruption, and at last a turn that is open.
 */
export const tellSession = async (url: string): Promise<void> => {
  const post = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  }
  const event = (type: string, data: object): object => ({ type, data })
  const write = (turnId: string, fence: number, ...events: object[]): Promise<void> =>
    post('/sessions/s/events', { turnId, fence, events })
  const step = (messageId: string): object =>
    event('step.started', { messageId, attempt: 1, agent: 'build', model })
  const end = (messageId: string, finish = 'tool-calls'): object =>
    event('step.ended', { messageId, finish, cost: 0, tokens })
  const call = (messageId: string, callId: string, name: string, input: object): object =>
    event('tool.called', { messageId, callId, name, input, effect: 'once', executedBy: 'host' })
  const dispatch = (messageId: string, callId: string): object =>
    event('tool.dispatched', { messageId, callId })
  const settle = (messageId: string, callId: string, outcome: string, text?: string): object => {
    const content = text === undefined ? [] : [{ type: 'text', text }]
    return event('tool.settled', { messageId, callId, outcome, content })
  }
  const question = 'Which database?'
  const options = [{ label: 'Postgres' }, { label: 'SQLite' }]
  const questions = [{ question, options }]
  const ask = (messageId: string, callId: string, requestId: string): object =>
    event('request.opened', { requestId, kind: 'question', messageId, callId, questions })
  const permit = (messageId: string, callId: string, requestId: string): object => {
    const permission = { action: 'run', resources: ['rm -r build'] }
    return event('request.opened', { requestId, kind: 'permission', messageId, callId, permission })
  }

  await post('/owners', { ownerId: 'laptop', lifetime: 'process' })
  await post('/owners', { ownerId: 'server', lifetime: 'process' })
  await post('/sessions', { sessionId: 's', title: 'A session in which much happens' })
  await post('/sessions/s/inputs', { messageId: 'in_1', text: 'Set up the database.' })
  const laptop = { ownerId: 'laptop', incarnation: 1 }
  await post('/sessions/s/turns', { turnId: 'trn_1', ...laptop, inputs: ['in_1'] })
  const error = { kind: 'rate-limit', message: 'try again in 20 s' }
  await write(
    'trn_1',
    1,
    step('msg_1'),
    event('text.ended', { messageId: 'msg_1', partId: 't', text: 'of an attempt that failed' }),
    event('step.retried', { messageId: 'msg_1', attempt: 2, error }),
    event('text.ended', { messageId: 'msg_1', partId: 't', text: 'I have two questions.' }),
    call('msg_1', 'call_1', 'question', { questions }),
    ask('msg_1', 'call_1', 'req_1'),
    call('msg_1', 'call_2', 'question', { questions }),
    ask('msg_1', 'call_2', 'req_2'),
    call('msg_1', 'call_3', 'bash', { command: 'rm -r build' }),
    permit('msg_1', 'call_3', 'req_3'),
  )
  await post('/sessions/s/requests/req_1/answer', { messageId: 'a_1', answers: [['Postgres']] })
  await post('/sessions/s/requests/req_2/close', { reason: 'dismissed' })
  const rejected = { messageId: 'a_3', decision: 'reject_once', message: 'keep the build' }
  await post('/sessions/s/requests/req_3/answer', rejected)
  await write(
    'trn_1',
    1,
    settle('msg_1', 'call_1', 'ok', 'Postgres'),
    settle('msg_1', 'call_2', 'denied'),
    settle('msg_1', 'call_3', 'denied'),
    end('msg_1'),
    step('msg_2'),
    call('msg_2', 'call_4', 'bash', { command: 'createdb app' }),
    dispatch('msg_2', 'call_4'),
  )
  await post('/owners/laptop/exited', { incarnation: 1, reason: 'the lid was closed' })
  const claim = { ownerId: 'server', incarnation: 1, fromFence: 1 }
  await post('/sessions/s/turns/trn_1/claim', claim)
  const found = { messageId: 'msg_2', callId: 'call_4', outcome: 'ok', evidence: 'psql -l' }
  await post('/sessions/s/events', { events: [event('tool.resolved', found)] })
  await write('trn_1', 2, event('turn.ended', { turnId: 'trn_1', outcome: 'completed', fence: 2 }))

  await post('/sessions/s/inputs', { messageId: 'in_2', text: 'Now fill it.' })
  const server = { ownerId: 'server', incarnation: 1 }
  await post('/sessions/s/turns', { turnId: 'trn_2', ...server, inputs: ['in_2'] })
  await write(
    'trn_2',
    3,
    step('msg_3'),
    call('msg_3', 'call_5', 'bash', { command: 'fill' }),
    dispatch('msg_3', 'call_5'),
  )
  const stop = { reason: 'wrong table', graceMs: 0 }
  await post('/sessions/s/turns/trn_2/interrupt', stop)

  await post('/sessions/s/turns', { turnId: 'trn_3', ...server })
  await write(
    'trn_3',
    5,
    step('msg_4'),
    call('msg_4', 'call_6', 'bash', { command: 'make' }),
    dispatch('msg_4', 'call_6'),
    call('msg_4', 'call_7', 'question', { questions }),
    ask('msg_4', 'call_7', 'req_7'),
  )
  await post('/sessions/s/inputs', { messageId: 'in_3', text: 'And then\nthe tests.' })
}

const model = { modelId: 'm', providerId: 'p' }
const tokens = { input: 1, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
