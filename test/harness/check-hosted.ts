import type { HostedSession } from './hosted-session.ts'

const ledgerLines = ['to buy: bread', 'shopper: Ada']

/** What may be otherwise in a run, because of where its hosts were stopped. */
export type Allowance = {
  /** Calls that a host may have left between their dispatch and their effect. */
  readonly unknown: number
  /** A host was slow and not dead: what is unknown may have been done all the same. */
  readonly slow?: boolean
}

/** What is wrong with a session whose turn was taken over and brought to its end; nothing if all is well. */
export const checkHosted = async (
  hosted: HostedSession,
  { unknown: mayBeUnknown, slow = false }: Allowance,
): Promise<string[]> => {
  const faults: string[] = []
  const must = (is: boolean, what: string): void => {
    if (!is) faults.push(what)
  }
  const events = await hosted.events()
  const { status, turn, openRequests, headSeq } = await hosted.session()
  must(
    events.every(({ seq }, n) => seq === n + 1) && events.length === headSeq,
    'the log has a gap or a double',
  )

  const count = (type: string): number => events.filter((event) => event.type === type).length
  must(count('turn.started') === 1, 'the input was not taken up by one turn')
  must(count('request.opened') === 1, 'the question was not asked once')
  must(count('request.answered') === 1, 'the question was not answered once')
  must(count('turn.ended') === 1, 'the turn did not end once')
  const last = events.at(-1)
  must(
    last?.type === 'turn.ended' && last.data['outcome'] === 'completed',
    `the log ends with ${last?.type} ${JSON.stringify(last?.data['outcome'])}`,
  )
  must(status === 'idle' && !turn && openRequests.length === 0, 'something is open')

  let fence = 0
  for (const event of events) {
    const { type, data, meta } = event
    if (type === 'turn.started' || type === 'turn.claimed') fence = Number(data['fence'])
    must(
      meta.fence === undefined || meta.fence === fence,
      `${type} at ${event.seq} is of fence ${meta.fence}, after fence ${fence} began`,
    )
  }

  const { entries, leftOut } = await hosted.context()
  must(!leftOut.some(({ reason }) => reason === 'unsettled'), 'a call is unsettled')
  const calls = entries.flatMap(({ parts = [] }) => parts.flatMap(({ callId }) => callId ?? []))
  const results = entries.filter(({ role }) => role === 'tool')
  must(
    calls.join() === results.map(({ callId }) => callId).join(),
    'not each call of the context has its result',
  )
  const outcomes = results.map(({ name, outcome }) => `${name} ${outcome}`)
  must(outcomes.length === 5, `there are ${outcomes.length} calls: ${outcomes.join(', ')}`)

  const unknown = results.filter(({ outcome }) => outcome !== 'ok')
  must(
    unknown.every(({ name, outcome }) => name === 'append_ledger' && outcome === 'unknown'),
    `calls have other outcomes: ${outcomes.join(', ')}`,
  )
  must(unknown.length <= mayBeUnknown, `${unknown.length} calls are unknown`)
  const written = hosted.ledger()
  const timesOf = ledgerLines.map((line) => written.filter((one) => one === line).length)
  must(
    timesOf.every((times) => times <= 1),
    `a once effect was had twice: ${written.join(', ')}`,
  )
  must(
    slow || written.length === ledgerLines.length - unknown.length,
    `${unknown.length} calls are unknown, and the ledger has: ${written.join(', ')}`,
  )
  must(hosted.plan() === 'Ada buys bread', 'the plan was not saved')
  return faults
}
