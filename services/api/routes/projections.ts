import { Refusal } from '../../../schema/errors.ts'
import { ProjectionParams, RebuildParams } from '../../../schema/http/params.ts'
import { ProjectionsReply, RebuildReply, StartRebuild } from '../../../schema/http/projections.ts'
import { readProjections } from '../../projector/rebuild/read-projections.ts'
import { readRebuild, type RebuildProgress } from '../../projector/rebuild/read-rebuild.ts'
import { rebuildsOfServer } from '../../projector/rebuild/rebuilds-of-server.ts'
import type { RouteDeps } from '../deps.ts'
import type { App } from '../type-provider.ts'

/** Projections belong to the whole store: rebuilding them takes `admin`, whatever the tenant. */
export const addProjectionRoutes = (app: App, { pool, report, stopping }: RouteDeps): void => {
  const rebuilds = rebuildsOfServer({ pool, report, signal: stopping })
  app.addHook('onClose', () => rebuilds.idle)

  const read = async (name: string, rebuildId: string) => {
    await mustBeThere(name)
    const generation = /^[1-9]\d{0,8}$/.test(rebuildId) ? Number(rebuildId) : 0
    const progress = await readRebuild(pool, name, generation)
    if (!progress) throw new Refusal('rebuild_not_found', `${name} has no rebuild ${rebuildId}`)
    return toRebuild(progress)
  }

  const mustBeThere = async (name: string): Promise<void> => {
    const projections = await readProjections(pool)
    if (projections.some((projection) => projection.name === name)) return
    throw new Refusal('projection_not_found', `there is no projection ${name}`)
  }

  app.get(
    '/v1/projections',
    {
      config: { scope: 'read' },
      schema: {
        summary: 'The projections and their generations',
        response: { 200: ProjectionsReply },
      },
    },
    async () => ({ data: await readProjections(pool) }),
  )

  app.post(
    '/v1/projections/:name/rebuilds',
    {
      config: { scope: 'admin', bodyMayBeMissing: true },
      schema: {
        summary: 'Rebuild a projection beside the live one',
        description:
          'This server begins, or joins the rebuild that is under way, and goes on behind the ' +
          'reply. If it is stopped, send the same again, to any server.',
        params: ProjectionParams,
        body: StartRebuild,
        response: { 202: RebuildReply },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      await mustBeThere(name)
      if (name !== 'transcript') {
        throw new Refusal('rebuild_refused', 'only the transcript can be rebuilt')
      }
      const { verify = false, verifyOnly = false, keep = false } = request.body
      const generation = await rebuilds.start({ verify, verifyOnly, keep })
      reply.code(202)
      reply.header('location', `/v1/projections/${name}/rebuilds/${generation}`)
      return { data: await read(name, String(generation)) }
    },
  )

  app.get(
    '/v1/projections/:name/rebuilds/:rebuildId',
    {
      config: { scope: 'admin' },
      schema: {
        summary: 'How a rebuild stands',
        params: RebuildParams,
        response: { 200: RebuildReply },
      },
    },
    async (request) => ({ data: await read(request.params.name, request.params.rebuildId) }),
  )
}

const toRebuild = (progress: RebuildProgress) => ({
  rebuildId: String(progress.generation),
  ...progress,
})
