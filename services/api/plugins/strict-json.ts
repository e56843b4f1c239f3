import type { FastifyRequest } from 'fastify'
import { Refusal } from '../../../schema/errors.ts'
import { parseStrict } from '../../json/parse-strict.ts'
import type { App } from '../type-provider.ts'

/**
 * Bodies are JSON that can be kept unchanged, or refused. The framework's own parser changes some
 * and drops others silently. An empty body is no body.
 */
export const addStrictJson = (app: App): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', asBuffer, async (request: Request, body: Buffer) =>
    parse(request.headers, body),
  )
  // The media type of RFC 7396.
  app.addContentTypeParser(
    'application/merge-patch+json',
    asBuffer,
    async (request: Request, body: Buffer) => {
      if (request.method !== 'PATCH') throw unsupported('is for PATCH alone')
      return parse(request.headers, body)
    },
  )
  app.addHook('preValidation', async (request) => {
    if (request.body === undefined && request.routeOptions.config.bodyMayBeMissing) {
      request.body = {}
    }
  })
}

type Request = Pick<FastifyRequest, 'method' | 'headers'>

const asBuffer = { parseAs: 'buffer' } as const

const parse = (headers: Request['headers'], body: Buffer): unknown => {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(String(headers['content-type']))?.[1]
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
    throw unsupported('must be UTF-8: JSON has no other encoding')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupported('must not be compressed')
  }
  return body.length === 0 ? undefined : parseStrict(body)
}

const unsupported = (what: string): Refusal =>
  new Refusal('unsupported_media_type', `the body ${what}`)
