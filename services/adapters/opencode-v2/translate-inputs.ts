import type { EventData } from '../../../schema/events/event-table.ts'
import { canonicalJson } from '../../json/canonical.ts'
import { abandonStep, seemsDone } from './translate-steps.ts'
import { takeFiles, takeModel } from './shapes.ts'
import type { SourceEvent } from './source.ts'
import {
  derive,
  endTurn,
  keepForeign,
  newMessageId,
  startTurn,
  write,
  type SourceInput,
  type Translate,
  type Writer,
} from './writer.ts'

export const inputTranslations: Readonly<Record<string, Translate>> = {
  'prompt.admitted': (writer, source) => {
    const messageId = source.members.id('messageID')
    if (messageId === undefined) return keepForeign(writer, source, 'it names no message')
    if (writer.messages.has(messageId)) return keepForeign(writer, source, 'its message is there')
    const prompt = promptOf(source)
    const admitted = takeAdmission(source, messageId)
    if (!admitted) return keepForeign(writer, source, 'its prompt is empty')
    writer.messages.add(messageId)
    writer.inputs.set(messageId, { prompt, delivered: false })
    write(writer, source, 'input.admitted', admitted)
  },
  prompted: (writer, source) => {
    const messageId = source.members.id('messageID')
    if (messageId === undefined) return keepForeign(writer, source, 'it names no message')
    const input = writer.inputs.get(messageId) ?? admitNow(writer, source, messageId)
    if (!input) return keepForeign(writer, source, 'its message is there, or its prompt is empty')
    if (input.delivered) return keepForeign(writer, source, 'its input was delivered before')
    endTurnBefore(writer, source)
    if (!writer.turn) startTurn(writer, source, [messageId])
    input.delivered = true
    // What the admission says is not said again.
    if (input.prompt === promptOf(source)) source.members.any('prompt')
    source.members.any('delivery')
    write(writer, source, 'input.delivered', { messageId, turnId: writer.turn!.turnId })
  },
}

export const selectionTranslations: Readonly<Record<string, Translate>> = {
  'agent.switched': (writer, source) => {
    const messageId = newMessageId(writer, source, source.members.id('messageID'))
    write(writer, source, 'agent.selected', {
      messageId,
      agent: source.members.text('agent') ?? '',
    })
  },
  'model.switched': (writer, source) => {
    const messageId = newMessageId(writer, source, source.members.id('messageID'))
    write(writer, source, 'model.selected', { messageId, model: takeModel(source.members) })
  },
}

/**
 * OpenCode takes an input up between steps, and a queued one when it is idle. So what is still open
 * had come to its end before, even though nothing in the history says so.
 */
const endTurnBefore = (writer: Writer, source: SourceEvent): void => {
  if (!writer.turn) return
  const queued = source.members.peek('delivery') === 'queue'
  if (writer.step && (queued || seemsDone(writer.step))) {
    const kind = abandonStep(writer, source)
    endTurn(writer, source, kind === 'incomplete' ? 'failed' : 'interrupted')
  } else if (queued) endTurn(writer, source, 'interrupted')
}

const admitNow = (
  writer: Writer,
  source: SourceEvent,
  messageId: string,
): SourceInput | undefined => {
  if (writer.messages.has(messageId)) return undefined
  const prompt = promptOf(source)
  const admitted = takeAdmission(source, messageId)
  if (!admitted) return undefined
  derive(writer, source, 'admitted', 'input.admitted', admitted)
  writer.mended.add(`input ${messageId} was delivered without having been admitted`)
  const input = { prompt, delivered: false }
  writer.messages.add(messageId)
  writer.inputs.set(messageId, input)
  return input
}

const promptOf = (source: SourceEvent): string => canonicalJson(source.data['prompt'])

const takeAdmission = (
  source: SourceEvent,
  messageId: string,
): EventData<'input.admitted'> | undefined => {
  const { members } = source
  const prompt = members.within('prompt')
  const text = prompt.text('text')
  const files = takeFiles(prompt)
  if (!text && files.length === 0) return undefined
  const delivery = members.peek('delivery') === 'queue' ? 'queue' : 'steer'
  if (members.peek('delivery') === delivery) members.any('delivery')
  return {
    messageId,
    kind: 'prompt',
    ...(text !== undefined && { text }),
    ...(files.length > 0 && { files }),
    delivery,
  }
}
