import { Refusal } from '../../../schema/errors.ts'
import type { App } from '../type-provider.ts'

/**
 * Call it when all routes are there. Other methods of a route that exists are `method_not_allowed`,
 * with the ones that it takes in Allow; OPTIONS is answered with the same list.
 */
export const collectMethods = (app: App): { readonly addOthers: () => void } => {
  const taken = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = taken.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    taken.set(url, methods)
  })
  return {
    addOthers: () => {
      for (const [url, methods] of taken) {
        const allow = [...methods, 'OPTIONS'].toSorted().join(', ')
        const others = app.supportedMethods.filter((m) => !methods.has(m) && m !== 'OPTIONS')
        app.route({
          method: others,
          url,
          config: { internal: true },
          // Before the body is read: its faults are not what is wrong.
          onRequest: async (request, reply) => {
            reply.header('allow', allow)
            throw new Refusal('method_not_allowed', `this route does not take ${request.method}`)
          },
          handler: () => undefined,
        })
        app.options(url, { config: { internal: true } }, async (_request, reply) => {
          reply.header('allow', allow)
          return reply.code(204).send()
        })
      }
    },
  }
}
