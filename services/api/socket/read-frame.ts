import { Refusal } from '../../../schema/errors.ts'
import {
  Append,
  Ping,
  SpeakDelta,
  SpeakReplace,
  SubscribeAll,
  SubscribeSession,
  SubscribeTree,
  Unsubscribe,
  type Speak,
} from '../../../schema/socket/client-frames.ts'
import { parseStrict } from '../../json/parse-strict.ts'
import { createCheck } from '../plugins/validation.ts'

/** A frame of a client, checked. */
export type ClientFrame =
  | SubscribeSession
  | SubscribeTree
  | SubscribeAll
  | Unsubscribe
  | Append
  | Speak
  | Ping

/** What a refused frame was about, as far as that could be read. */
export type FrameNames = { readonly ref?: string; readonly sub?: string }

type Read = { readonly names: FrameNames } & (
  | { readonly frame: ClientFrame }
  | { readonly refusal: Refusal }
)

/** Reads a text frame, as strictly as a body; what is wrong with it has a pointer into the frame. */
export const readFrame = (text: string): Read => {
  let value: unknown
  try {
    value = parseStrict(text)
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error, names: {} }
    throw error
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { refusal: wrong('', 'must be an object'), names: {} }
  }
  const frame = value as Readonly<Record<string, unknown>>
  const names = namesOf(frame)
  const check = checkOf(frame)
  if (!check) return { refusal: wrong('/op', `must be ${operations.join(' or ')}`), names }
  const refusal = check(value)
  return refusal ? { refusal, names } : { frame: frame as unknown as ClientFrame, names }
}

const checks = {
  session: createCheck(SubscribeSession),
  tree: createCheck(SubscribeTree),
  all: createCheck(SubscribeAll),
  unsubscribe: createCheck(Unsubscribe),
  append: createCheck(Append),
  delta: createCheck(SpeakDelta),
  replace: createCheck(SpeakReplace),
  ping: createCheck(Ping),
}

const operations = ['subscribe', 'unsubscribe', 'append', 'live', 'ping']

const checkOf = (frame: Readonly<Record<string, unknown>>) => {
  switch (frame['op']) {
    case 'subscribe':
      if ('all' in frame) return checks.all
      return (frame['tree'] ?? false) === false ? checks.session : checks.tree
    case 'unsubscribe':
      return checks.unsubscribe
    case 'append':
      return checks.append
    case 'live':
      return 'replace' in frame ? checks.replace : checks.delta
    case 'ping':
      return checks.ping
    default:
      return undefined
  }
}

const namesOf = ({ ref, sub }: Readonly<Record<string, unknown>>): FrameNames => ({
  ...(typeof ref === 'string' && { ref }),
  ...(typeof sub === 'string' && { sub }),
})

const wrong = (pointer: string, detail: string): Refusal =>
  new Refusal('invalid_body', `the frame${pointer === '' ? '' : ` at ${pointer}`} ${detail}`, {
    faults: [{ pointer, detail }],
  })
