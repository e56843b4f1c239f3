import type { DecidedEvent } from '../../services/log/rules/draft.ts'

type Data = Readonly<Record<string, unknown>> & {
  readonly turnId: string
  readonly fence: number
  readonly messageId: string
  readonly attempt: number
  readonly callId: string
  readonly partId: string
  readonly requestId: string
  readonly compactionId: string
  readonly epochId: string
}

type Seen = { settled: boolean; once: boolean; dispatched: boolean; key?: string; repeats?: string }

/** A dispatch of a call with an effect key; `outcome` is empty while it is under way. */
type Ran = { readonly id: string; readonly of: string; readonly key: string; outcome: string }

const held: ReadonlySet<string> = new Set(['', 'ok', 'unknown'])

/** What is wrong with a log, read from its events alone; nothing, if it is as it must be. */
export const brokenInvariants = (log: readonly DecidedEvent[]): string[] => {
  const wrong: string[] = []
  const open = new Set<string>()
  const calls = new Map<string, Seen>()
  const ran: Ran[] = []
  const attempts = new Map<string, number>()
  const ends = new Set<string>()
  const answered = new Set<string>()
  let turnId: string | undefined
  let fence = 0

  log.forEach(({ seq, type, data, meta }, index) => {
    const d = data as Data
    const say = (what: string): void => void wrong.push(`seq ${seq}: ${what}`)
    const at = `${d.messageId}/${attempts.get(d.messageId) ?? 0}`
    if (seq !== index + 1) say(`comes after ${index}`)
    if (typeof d.fence === 'number') {
      if (d.fence < fence) say(`fence ${d.fence} is below ${fence}`)
      fence = Math.max(fence, d.fence)
    }
    if (meta.fence !== undefined && meta.fence < fence) {
      say(`${type} was written under fence ${meta.fence}, and ${fence} was given out`)
    }
    switch (type) {
      case 'turn.started':
        if (turnId !== undefined) say(`turn ${d.turnId} begins in turn ${turnId}`)
        if (open.size > 0) say(`turn ${d.turnId} begins with ${[...open].join()} open`)
        turnId = d.turnId
        break
      case 'turn.ended':
        if (ends.has(d.turnId)) say(`turn ${d.turnId} ends again`)
        if (open.size > 0) say(`turn ${d.turnId} ends with ${[...open].join()} open`)
        ends.add(d.turnId)
        turnId = undefined
        break
      case 'step.started':
      case 'step.retried':
        attempts.set(d.messageId, d.attempt)
        open.add(`step ${d.messageId}`)
        break
      case 'step.ended':
      case 'step.failed':
        open.delete(`step ${d.messageId}`)
        for (const thing of open) if (/^(part|call) /.test(thing)) say(`leaves ${thing} open`)
        break
      case 'text.started':
      case 'reasoning.started':
        open.add(`part ${at}/${d.partId}`)
        break
      case 'text.ended':
      case 'reasoning.ended':
        open.delete(`part ${at}/${d.partId}`)
        break
      case 'tool.input.started':
      case 'tool.input.ended':
      case 'tool.called': {
        const id = `${at}/${d.callId}`
        const call = calls.get(id) ?? { settled: false, once: false, dispatched: false }
        if (call.settled) say(`call ${id} goes on after it settled`)
        if (type === 'tool.called') {
          call.once = d.effect === 'once'
          if (call.once && d.effectKey !== undefined) call.key = d.effectKey as string
          if (d.repeats !== undefined) call.repeats = d.repeats as string
        }
        calls.set(id, call)
        open.add(`call ${id}`)
        break
      }
      case 'tool.dispatched': {
        const id = `${at}/${d.callId}`
        const call = calls.get(id)
        if (!call || call.settled) return say(`call ${id} is dispatched and not open`)
        if (call.once && call.dispatched) say(`call ${id} is dispatched again`)
        call.dispatched = true
        const mayBeHad = ran.some((c) => c.key === call.key && held.has(c.outcome))
        if (call.key !== undefined && mayBeHad && call.repeats === undefined) {
          say(`effect ${call.key} is repeated, and was not meant to be`)
        }
        if (call.key !== undefined) ran.push({ id, of: d.messageId, key: call.key, outcome: '' })
        break
      }
      case 'tool.settled': {
        const id = `${at}/${d.callId}`
        const call = calls.get(id)
        if (!call) return say(`call ${id} settles and was not there`)
        if (call.settled) say(`call ${id} settles again`)
        call.settled = true
        open.delete(`call ${id}`)
        for (const c of ran) if (c.id === id) c.outcome = d.outcome as string
        break
      }
      case 'tool.resolved':
        for (const c of ran) {
          const isIt = c.of === d.messageId && c.id.endsWith(`/${d.callId}`)
          if (isIt && c.outcome === 'unknown') c.outcome = d.outcome as string
        }
        break
      case 'request.opened':
        open.add(`request ${d.requestId}`)
        break
      case 'request.answered':
      case 'request.closed':
        if (answered.has(d.requestId)) say(`request ${d.requestId} is settled again`)
        answered.add(d.requestId)
        open.delete(`request ${d.requestId}`)
        break
      case 'compaction.started':
        open.add(`compaction ${d.compactionId}`)
        break
      case 'compaction.ended':
      case 'compaction.failed':
        open.delete(`compaction ${d.compactionId}`)
        break
      case 'epoch.opened':
        open.add(`epoch ${d.epochId}`)
        break
      case 'epoch.sealed':
      case 'epoch.failed':
        open.delete(`epoch ${d.epochId}`)
        break
    }
  })
  return wrong
}
