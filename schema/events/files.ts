import { Type } from 'typebox'
import { ownerOrStore, store, type EventFamily } from './event-family.ts'
import { Id, Json, strict } from './shapes.ts'

const Path = Type.String({ minLength: 1, maxLength: 4096 })
const Hash = Type.Union([Type.String(), Type.Null()])

export const fileEvents = {
  'epoch.opened': ownerOrStore(
    strict({
      epochId: Id,
      epoch: Type.Integer({ minimum: 1 }),
      worktreeId: Id,
      messageId: Type.Optional(Id),
      callId: Type.Optional(Id),
      planId: Type.Optional(Id),
      capture: Type.Union([Type.Literal('exact'), Type.Literal('scan')]),
      paths: Type.Optional(Type.Array(Path)),
    }),
  ),
  'epoch.sealed': ownerOrStore(
    strict({
      epochId: Id,
      changes: Type.Array(
        strict({ path: Path, before: Hash, after: Hash, mode: Type.Optional(Type.String()) }),
      ),
    }),
  ),
  'epoch.failed': ownerOrStore(strict({ epochId: Id, reason: Type.String() })),
  // What they carry beside the plan's id is settled with restore plans.
  'restore.requested': store(strict({ planId: Id, detail: Type.Optional(Json) })),
  'restore.reserved': store(strict({ planId: Id, detail: Type.Optional(Json) })),
  'restore.applied': store(strict({ planId: Id, detail: Type.Optional(Json) })),
} as const satisfies EventFamily
