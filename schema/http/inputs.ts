import { Type, type Static } from 'typebox'
import { Delivery, InputKind, inputEvents } from '../events/input.ts'
import { Id, Seq, strict } from '../events/shapes.ts'
import { AsOfSeq, dataOf, reply } from './page.ts'

const admitted = inputEvents['input.admitted'].data.properties

export const AdmitInput = strict({
  messageId: Type.Optional(Id),
  kind: Type.Optional(InputKind),
  text: admitted.text,
  files: admitted.files,
  delivery: Type.Optional(Delivery),
  expectedTurnId: admitted.expectedTurnId,
  onlyIfIdle: Type.Optional(
    Type.Boolean({ description: 'refuse the input with `turn_active` while a turn is active' }),
  ),
})
export type AdmitInput = Static<typeof AdmitInput>

export const ChangeInput = strict({ delivery: Delivery })

/** An input that waits: admitted and not delivered. */
export const Input = reply({
  messageId: Id,
  seq: Seq,
  kind: InputKind,
  delivery: Delivery,
  text: admitted.text,
  files: admitted.files,
  expectedTurnId: admitted.expectedTurnId,
  status: Type.Literal('waiting'),
  admittedAt: Type.String({ format: 'date-time' }),
})
export type Input = Static<typeof Input>

export const InputReply = dataOf(Input)
export const InputsReply = reply({ data: Type.Array(Input), asOfSeq: AsOfSeq })
