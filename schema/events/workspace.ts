import { Type } from 'typebox'
import { anyone, anyoneOrStore, type EventFamily } from './event-family.ts'
import { Id, strict } from './shapes.ts'

export const workspaceEvents = {
  'workspace.bound': anyone(
    strict({
      worktreeId: Id,
      host: Type.String(),
      root: Type.String(),
      branch: Type.Optional(Type.String()),
      exclusive: Type.Optional(Type.Boolean()),
    }),
  ),
  'workspace.return.updated': anyoneOrStore(
    strict({
      state: Type.Union([
        Type.Literal('pending'),
        Type.Literal('synced'),
        Type.Literal('failed'),
        Type.Literal('setup-failed'),
        Type.Literal('disabled'),
      ]),
      message: Type.Optional(Type.String()),
      commit: Type.Optional(Type.String()),
    }),
  ),
} as const satisfies EventFamily
