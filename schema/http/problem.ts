import { Type, type Static } from 'typebox'
import { errorTable, type ErrorCode } from '../errors.ts'
import { reply } from './page.ts'

const codes = Object.keys(errorTable) as ErrorCode[]

/** RFC 9457, `application/problem+json`. Some codes carry members of their own (`headSeq`, `fence`). */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'a URN that ends with the code' }),
    title: Type.String({ description: 'the same for every problem of the code' }),
    status: Type.Integer(),
    detail: Type.String({ description: 'what is wrong here, for people' }),
    code: Type.Enum(codes, { description: 'stable: decide by this' }),
    errors: Type.Optional(
      Type.Array(
        reply({
          pointer: Type.String({ description: 'JSON Pointer (RFC 6901) into what was sent' }),
          detail: Type.String(),
        }),
      ),
    ),
  },
  { additionalProperties: true },
)
export type Problem = Static<typeof Problem> & { readonly [member: string]: unknown }
