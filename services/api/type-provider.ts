import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Scope } from './plugins/principal.ts'

/** Gives handlers the types of what their schemas let through. */
export interface TypeBoxProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  readonly serializer: unknown
}

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxProvider
>

export type AnyRequest = Pick<
  FastifyRequest,
  'id' | 'method' | 'headers' | 'params' | 'query' | 'body' | 'routeOptions' | 'raw'
>
export type AnyReply = Pick<FastifyReply, 'header' | 'code'>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the caller's token must carry; a route without one is open to anybody. */
    scope?: Scope
    /** A body that is left out counts as `{}`. */
    bodyMayBeMissing?: true
    /** Made by us beside the routes (405, OPTIONS): not described. */
    internal?: true
  }
  interface FastifySchema {
    summary?: string
    description?: string
  }
}
