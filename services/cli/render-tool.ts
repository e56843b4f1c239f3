import type { Static } from 'typebox'
import type { MessagePart } from '../../schema/http/messages.ts'
import { displayWidth, fit } from './display-width.ts'
import type { Style } from './paint.ts'
import { renderAsked, renderClosed } from './render-request.ts'
import { indent, shorten } from './render-text.ts'
import type { TranscriptView } from './render-transcript.ts'
import { visible, visibleLine } from './visible.ts'

type ToolPart = Static<typeof MessagePart>
type Content = NonNullable<ToolPart['content']>

const outcomeStyles: Readonly<Record<string, Style>> = {
  ok: 'green',
  error: 'red',
  denied: 'yellow',
  cancelled: 'yellow',
  unknown: 'yellow',
}

/** A call: its name, its input on one line, how it came out, and the first lines of its output. */
export const renderTool = (part: ToolPart, view: TranscriptView): string => {
  const { paint } = view
  const state = visibleLine((part.status === 'settled' ? part.outcome : part.status) ?? 'called')
  const name = visibleLine(part.name || 'tool')
  const room = Math.max(20, view.columns - displayWidth(name) - state.length - 8)
  const input = visibleLine(inputLine(part))
  const head = `${paint('bold', name)} ${view.full ? input : fit(input, room)}`.trimEnd()
  const outcome = paint(outcomeStyles[state] ?? 'dim', state)
  const { resolved } = part
  const found = resolved
    ? `, found out later: ${paint(outcomeStyles[resolved.outcome] ?? 'dim', visibleLine(resolved.outcome))}`
    : ''
  const error = part.error ? [indent(paint('red', visible(part.error.message)))] : []
  const output = shorten(
    outputText((resolved?.content as Content | undefined) ?? part.content),
    view.full,
  )
  return [
    `${head} → ${outcome}${found}`,
    ...asked(part, view).map((said) => indent(paint('yellow', said))),
    ...(state === 'unknown' && !resolved
      ? [indent(paint('dim', 'nobody knows whether it ran'))]
      : []),
    ...error,
    ...(output === '' ? [] : [indent(paint('dim', visible(output)))]),
  ].join('\n')
}

/** What the call asked a person, where its input does not say it, and how that ended unanswered. */
const asked = ({ requestId }: ToolPart, { notes }: TranscriptView): string[] => {
  const request = notes?.requests.get(requestId ?? '')
  if (!request) return []
  const { opened, closed } = request
  return [
    ...(opened.kind === 'question' ? [] : [`asks for ${opened.kind}: ${renderAsked(opened)}`]),
    ...(closed ? [renderClosed(closed)] : []),
  ]
}

/** Tools with one telling member are told by it, all others by their JSON. */
const inputLine = (part: ToolPart): string => {
  const { input, inputText } = part
  if (input === undefined) return inputText ?? ''
  if (typeof input === 'object' && input !== null) {
    for (const member of tellingMembers) {
      const value = (input as Readonly<Record<string, unknown>>)[member]
      if (typeof value === 'string') return value
    }
    const { questions } = input as { readonly questions?: unknown }
    if (Array.isArray(questions)) return questions.map(questionLine).join(' / ')
  }
  return JSON.stringify(input)
}

const tellingMembers = ['command', 'filePath', 'file_path', 'path', 'pattern', 'url', 'query']

const questionLine = (value: unknown): string => {
  const { question, options } = (value ?? {}) as { question?: unknown; options?: unknown }
  const labels = Array.isArray(options)
    ? options.flatMap((option: unknown) => {
        const { label } = (option ?? {}) as { label?: unknown }
        return typeof label === 'string' ? [label] : []
      })
    : []
  const text = typeof question === 'string' ? question : JSON.stringify(value)
  return labels.length > 0 ? `${text} (${labels.join(', ')})` : text
}

const outputText = (content: Content | undefined): string =>
  (content ?? [])
    .map((item) =>
      item.type === 'text'
        ? item.text.replace(/\n$/, '')
        : `[file ${item.name ?? item.uri ?? item.mediaType}]`,
    )
    .join('\n')
