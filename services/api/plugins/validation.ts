import { Ajv, type ErrorObject } from 'ajv'
import type { TSchema } from 'typebox'
import { Refusal, type ErrorCode, type Fault } from '../../../schema/errors.ts'
import { idPattern, strict } from '../../../schema/events/shapes.ts'
import type { App } from '../type-provider.ts'
import { malformedQuery } from './parse-query.ts'

const mostFaults = 20

const ajv = new Ajv({ allErrors: true, strict: false, verbose: true, validateFormats: false })

/**
 * Validation by the routes' schemas, without coercion and without dropping anything. In query
 * strings, which are all text, exact decimal digits become the number that the schema asks for.
 * Replies are described by schemas and written as they are.
 */
export const addValidation = (app: App): void => {
  app.setValidatorCompiler<TSchema>(({ schema, httpPart = 'body' }) => {
    const validate = ajv.compile(schema)
    const integers = httpPart === 'querystring' ? integersOf(schema) : []
    return (value: unknown) => {
      if (httpPart === 'querystring') {
        if (malformedQuery in (value as object)) return { error: refuseEncoding() }
        for (const name of integers) toInteger(value as Record<string, unknown>, name)
      }
      return validate(value) ? { value } : { error: refuse(httpPart, validate.errors ?? []) }
    }
  })
  app.setSerializerCompiler(() => JSON.stringify)
  // A route that describes no query takes none.
  app.addHook('onRoute', (route) => {
    route.schema = { querystring: strict({}), ...route.schema }
  })
}

/** A check of what came another way than by HTTP. Gives what is wrong with the value, if anything is. */
export const createCheck = (schema: TSchema): ((value: unknown) => Refusal | undefined) => {
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : refuse('body', validate.errors ?? []))
}

const integersOf = (schema: unknown): string[] =>
  Object.entries((schema as { properties?: Record<string, { type?: string }> }).properties ?? {})
    .filter(([, property]) => property.type === 'integer')
    .map(([name]) => name)

const toInteger = (query: Record<string, unknown>, name: string): void => {
  const text = query[name]
  if (typeof text === 'string' && /^(0|[1-9]\d{0,15})$/.test(text)) {
    const number = Number(text)
    if (Number.isSafeInteger(number)) query[name] = number
  }
}

const refuseEncoding = (): Refusal =>
  new Refusal('invalid_query', 'the query string is not percent-encoded UTF-8')

type CodedFault = Fault & { readonly code: ErrorCode }

const refuse = (part: string, errors: readonly ErrorObject[]): Refusal => {
  const faults = withoutBranches(errors).map((error) => faultOf(part, error))
  const first = faults[0]!
  const what =
    part === 'querystring' ? 'the query string' : part === 'params' ? 'the path' : 'the body'
  const more = faults.length > 1 ? `, and ${faults.length - 1} more places are wrong` : ''
  const place = first.pointer === '' ? what : `${what} at ${first.pointer}`
  return new Refusal(first.code, `${place} ${first.detail}${more}`, {
    faults: faults.slice(0, mostFaults).map(({ pointer, detail }) => ({ pointer, detail })),
  })
}

/** Of a value that fits no branch of a union only that is said, not why each branch does not fit. */
const withoutBranches = (errors: readonly ErrorObject[]): readonly ErrorObject[] => {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf')
  return errors.filter(
    ({ schemaPath }) => !unions.some((union) => schemaPath.startsWith(`${union.schemaPath}/`)),
  )
}

const faultOf = (part: string, error: ErrorObject): CodedFault => ({
  code: codeOf(part, error),
  pointer: `${error.instancePath}${memberOf(error)}`,
  detail: detailOf(error),
})

const codeOf = (part: string, error: ErrorObject): ErrorCode => {
  if (isIdFault(error)) return 'invalid_id'
  if (part === 'body') return 'invalid_body'
  if (error.instancePath === '/limit') return 'invalid_limit'
  if (error.instancePath === '/cursor' || error.instancePath === '/after') return 'invalid_cursor'
  return part === 'params' ? 'invalid_id' : 'invalid_query'
}

const isIdFault = ({ keyword, params }: ErrorObject): boolean =>
  keyword === 'pattern' && (params as { pattern: string }).pattern === idPattern

const memberOf = ({ keyword, params }: ErrorObject): string => {
  const { additionalProperty, missingProperty } = params as Record<string, string | undefined>
  const member =
    keyword === 'additionalProperties'
      ? additionalProperty
      : keyword === 'required'
        ? missingProperty
        : undefined
  return member === undefined ? '' : `/${escapePointer(member)}`
}

const detailOf = (error: ErrorObject): string => {
  if (isIdFault(error)) return 'is not 1 to 128 of A-Z a-z 0-9 . _ : ~ -'
  switch (error.keyword) {
    case 'additionalProperties':
      return 'is not a member of this shape'
    case 'required':
      return 'must be there'
    case 'anyOf':
      return `must be ${choicesOf(error)}`
    case 'const':
      return `must be ${String((error.params as { allowedValue: unknown }).allowedValue)}`
    default:
      return error.message ?? 'is wrong'
  }
}

const choicesOf = ({ schema }: ErrorObject): string =>
  (schema as { const?: unknown; type?: string }[])
    .map((branch) => ('const' in branch ? String(branch.const) : (branch.type ?? 'another shape')))
    .join(' or ')

const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
