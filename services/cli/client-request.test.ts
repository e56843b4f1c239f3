import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { openClient, ServiceProblem, type ServiceClient } from './client-request.ts'
import { describeFailure } from './describe-failure.ts'

const serving = async (
  t: Test,
  answer: RequestListener,
  token?: string,
): Promise<ServiceClient> => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return openClient({ url: `http://127.0.0.1:${port}//`, token })
}

t.test('the token goes with each request, and members that are not given do not', async (t) => {
  const client = await serving(
    t,
    ({ url, headers }, response) => {
      response.end(JSON.stringify({ url, token: headers.authorization }))
    },
    'secret',
  )
  t.same(await client.get('/v1/sessions', { limit: 2, search: undefined, order: 'a&b' }), {
    url: '/v1/sessions?limit=2&order=a%26b',
    token: 'Bearer secret',
  })
})

t.test('a problem is told by title, code, detail and pointers', async (t) => {
  const client = await serving(t, (_request, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json' })
    response.end(
      JSON.stringify({
        title: 'The body does not have the shape this route takes',
        code: 'invalid_body',
        status: 400,
        detail: '1 place of the body is wrong',
        errors: [{ pointer: '/events/0/type', detail: 'must be there\u001b[2J' }],
      }),
    )
  })
  const error = await client.post('/v1/imports', {}).then(
    () => undefined,
    (problem: unknown) => problem,
  )
  t.ok(error instanceof ServiceProblem)
  t.equal(
    describeFailure(error),
    `The body does not have the shape this route takes (invalid_body)
  1 place of the body is wrong
  /events/0/type: must be there␛[2J`,
  )
})

t.test('something else that answers is not taken for the service', async (t) => {
  for (const status of [200, 404]) {
    const client = await serving(t, (_request, response) => {
      response.writeHead(status)
      response.end('<html>hello</html>')
    })
    await t.rejects(client.get('/'), { message: /^what answers at .* is no Stemma service$/ })
  }
})
