import { Refusal } from '../../../schema/errors.ts'
import type { CommandOptions } from '../../log/command.ts'
import type { AnyReply, AnyRequest } from '../type-provider.ts'

/** The head that `If-Match` names: `"12"`, or a bare 12. Throws Refusal `invalid_header`. */
export const ifMatchOf = ({ headers }: AnyRequest): Pick<CommandOptions, 'ifMatch'> => {
  const text = headers['if-match']
  if (text === undefined) return {}
  const digits = /^(?:"(0|[1-9]\d*)"|(0|[1-9]\d*))$/.exec(text)
  const ifMatch = Number(digits?.[1] ?? digits?.[2] ?? Number.NaN)
  if (!Number.isSafeInteger(ifMatch)) {
    throw new Refusal('invalid_header', 'If-Match is not one seq, as in "12"')
  }
  return { ifMatch }
}

/** The seq as `ETag`. */
export const setEtag = (reply: AnyReply, seq: number): void => {
  reply.header('etag', `"${seq}"`)
}
