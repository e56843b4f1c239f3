import { Type } from 'typebox'
import { store, type EventFamily } from './event-family.ts'
import { Boundary, Json, Lineage, Reopened, strict } from './shapes.ts'

export const revertEvents = {
  'revert.staged': store(
    strict({
      boundary: Boundary,
      lineage: Lineage,
      reopened: Type.Optional(Reopened),
      files: Type.Optional(Json),
    }),
  ),
  'revert.cleared': store(strict({})),
  'revert.committed': store(strict({ lineage: Lineage })),
  'revert.reinstated': store(strict({ lineage: Lineage })),
} as const satisfies EventFamily
