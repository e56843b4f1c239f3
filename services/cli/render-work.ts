import type { Work } from '../../schema/http/work.ts'
import { pad } from './display-width.ts'
import type { Paint } from './paint.ts'
import { visibleLine } from './visible.ts'

const kindColumns = 6
const sessionColumns = 12

/** One thing that waits for an owner, on a line: its kind, its session, what it is. */
export const renderWork = (work: Work, paint: Paint): string => {
  const session = pad(visibleLine(work.sessionId), sessionColumns)
  return `${paint('yellow', pad(work.kind, kindColumns))}  ${session}  ${contentOf(work)}\n`
}

const contentOf = (work: Work): string => {
  switch (work.kind) {
    case 'input':
      return visibleLine(work.messageId)
    case 'answer':
      return `to ${visibleLine(work.requestId)}`
    case 'turn':
      return `${visibleLine(work.turnId)} from fence ${work.fromFence}`
  }
  return work satisfies never
}
