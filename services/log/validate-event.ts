import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { Refusal, type ErrorCode, type Fault } from '../../schema/errors.ts'
import { IncomingEnvelope, type EventMeta, type NewEvent } from '../../schema/events/envelope.ts'
import {
  eventTable,
  foreignType,
  isKnownType,
  type EventType,
} from '../../schema/events/event-table.ts'
import { idPattern } from '../../schema/events/shapes.ts'
import { isInstant } from './is-instant.ts'
import { newId } from './new-id.ts'

export type ValidateOptions = {
  /** JSON Pointer of the array of events in its body. */
  readonly pointer: string
  /** `import` may write events of every type, with `meta.importClosing`. */
  readonly mode: 'append' | 'import'
  readonly maxEventBytes: number
}

const mostFaults = 20
const reservedMeta: readonly string[] = ['turnId', 'fence', 'given', 'importClosing']

const ajv = new Ajv({ allErrors: true, strict: false })
const validateEnvelope = ajv.compile<IncomingEnvelope>(IncomingEnvelope)
const compiled = new Map<EventType, ValidateFunction>()

/**
 * The events of a request, checked against their types' schemas and completed (id, version, meta).
 * Nothing is coerced or dropped. Throws a Refusal with pointers: `invalid_body`, `invalid_id`,
 * `unknown_type`, `reserved_type`, `too_large`.
 */
export const validateEvents = (
  events: readonly unknown[],
  options: ValidateOptions,
): NewEvent[] => {
  const faults: Coded[] = []
  const valid = events.map((event, index) =>
    validateOne(event, { ...options, pointer: `${options.pointer}/${index}` }, faults),
  )
  const [first] = faults
  if (first) {
    throw new Refusal(first.code, `${faults.length} places of the events are wrong`, {
      faults: faults.slice(0, mostFaults).map(({ pointer, detail }) => ({ pointer, detail })),
    })
  }
  return valid as NewEvent[]
}

type Coded = Fault & { readonly code: ErrorCode }

const validateOne = (
  event: unknown,
  { pointer, mode, maxEventBytes }: ValidateOptions,
  faults: Coded[],
): NewEvent | undefined => {
  const before = faults.length
  const note = (code: ErrorCode, at: string, detail: string): void => {
    faults.push({ code, pointer: at, detail })
  }
  if (!validateEnvelope(event)) {
    noteErrors(validateEnvelope.errors, pointer, faults)
    return undefined
  }
  const { type, data, version = 1 } = event
  const meta: EventMeta = event.meta ?? {}
  if (isKnownType(type)) {
    if (version !== eventTable[type].version) {
      note('invalid_body', `${pointer}/version`, `must be ${eventTable[type].version}`)
    }
    if (mode === 'append' && isReserved(type)) {
      note('reserved_type', `${pointer}/type`, `${type} is written by the store alone`)
    } else if (!validatorOf(type)(data)) {
      noteErrors(validatorOf(type).errors, `${pointer}/data`, faults)
    }
  } else if (!foreignType.test(type)) {
    note('unknown_type', `${pointer}/type`, 'is not known; types of your own begin with x.')
  }
  for (const member of reservedMeta) {
    if (!Object.hasOwn(meta, member)) continue
    if (member === 'importClosing' && mode === 'import') {
      if (meta.importClosing !== true)
        note('invalid_body', `${pointer}/meta/${member}`, 'must be true')
    } else note('invalid_body', `${pointer}/meta/${member}`, 'is written by the store alone')
  }
  if (faults.length > before) return undefined
  if (event.occurredAt !== undefined && !isInstant(event.occurredAt)) {
    note('invalid_body', `${pointer}/occurredAt`, 'is no date')
    return undefined
  }
  const size = Buffer.byteLength(JSON.stringify(data)) + Buffer.byteLength(JSON.stringify(meta))
  if (size > maxEventBytes) {
    note(
      'too_large',
      pointer,
      `has ${size} bytes, ${maxEventBytes} are taken: put larger content to PUT /v1/blobs/{sha256} and refer to it`,
    )
    return undefined
  }
  return {
    eventId: event.eventId ?? newId('evt'),
    type,
    version,
    ...(event.occurredAt !== undefined && { occurredAt: event.occurredAt }),
    data,
    meta,
  } as NewEvent
}

const validatorOf = (type: EventType): ValidateFunction => {
  let validate = compiled.get(type)
  if (!validate) compiled.set(type, (validate = ajv.compile(eventTable[type].data)))
  return validate
}

const isReserved = (type: EventType): boolean => {
  const writers: readonly string[] = eventTable[type].writers
  return writers.length === 1 && writers[0] === 'store'
}

const noteErrors = (
  errors: readonly ErrorObject[] | null | undefined,
  base: string,
  faults: Coded[],
): void => {
  for (const { instancePath, keyword, params, message } of errors ?? []) {
    const member =
      keyword === 'additionalProperties'
        ? `/${escapePointer((params as { additionalProperty: string }).additionalProperty)}`
        : keyword === 'required'
          ? `/${escapePointer((params as { missingProperty: string }).missingProperty)}`
          : ''
    const isId = keyword === 'pattern' && (params as { pattern: string }).pattern === idPattern
    faults.push({
      code: isId ? 'invalid_id' : 'invalid_body',
      pointer: `${base}${instancePath}${member}`,
      detail: detailOf(keyword, isId, message),
    })
  }
}

const detailOf = (keyword: string, isId: boolean, message: string | undefined): string => {
  if (isId) return 'is not 1 to 128 of A-Z a-z 0-9 . _ : ~ -'
  if (keyword === 'additionalProperties') return 'is not a member of this shape'
  if (keyword === 'required') return 'must be there'
  return message ?? 'is wrong'
}

const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')
