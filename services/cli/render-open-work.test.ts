import t from 'tap'
import { displayWidth } from './display-width.ts'
import { plain } from './paint.ts'
import { renderOpenWork, type OpenWork } from './render-open-work.ts'
import type { TranscriptView } from './render-transcript.ts'
import { addNote, noNotes } from './transcript-notes.ts'

const view: TranscriptView = { full: false, columns: 80, paint: plain, now: 0 }
const nothing: OpenWork = { openRequests: [], inputs: [] }
const turn = { turnId: 'trn_1', ownerId: 'laptop', fence: 1, startedSeq: 3 }
const told = (work: Partial<OpenWork>, more: Partial<TranscriptView> = {}): string =>
  renderOpenWork({ ...nothing, ...work }, new Map([['m/call_1', 'bash']]), { ...view, ...more })

t.test('where nothing is open nothing is said', async (t) => {
  t.equal(told({}), '')
})

t.test('a running turn says whose it is, and whether its owner is alive', async (t) => {
  t.match(told({ turn, ownerAlive: true }), 'trn_1 is run by laptop, who is alive\n')
  t.match(
    told({ turn, ownerAlive: false }),
    'trn_1: its owner laptop is gone; anyone may take it over\n',
  )
  t.match(
    told({ turn: { ...turn, released: true }, ownerAlive: false }),
    'trn_1 was released by laptop: anyone may take it over\n',
  )
  const stopped = { ...turn, interrupt: { seq: 5 } }
  t.match(told({ turn: stopped, ownerAlive: true }), '\n  it was asked to stop\n')
  const notes = noNotes()
  const data = { turnId: 'trn_1', reason: 'enough', by: { subject: 'ana' } }
  addNote(notes, { seq: 5, type: 'turn.interrupt.requested', data } as never)
  t.match(
    told({ turn: stopped, ownerAlive: true }, { notes }),
    '\n  ana asked it to stop: enough\n',
  )
})

t.test('calls, requests and inputs that wait are told, each on one line', async (t) => {
  const work = told({
    turn,
    ownerAlive: true,
    step: {
      messageId: 'm',
      attempt: 1,
      calls: [
        { callId: 'call_1', status: 'dispatched', effect: 'once' },
        { callId: 'call_2', status: 'streaming' },
      ],
    },
    openRequests: [
      {
        requestId: 'req_1',
        sessionId: 's',
        status: 'open',
        kind: 'permission',
        permission: { action: 'run', resources: ['rm '.repeat(60)] },
        openedSeq: 4,
        openedAt: '',
      },
    ],
    inputs: [
      { messageId: 'in_1', kind: 'prompt', delivery: 'steer', text: 'a\nb\u001b[31m' },
      { messageId: 'in_2', kind: 'compact', delivery: 'queue' },
    ] as unknown as OpenWork['inputs'],
  })
  const lines = work.split('\n')
  t.same(lines.slice(3), [
    '  bash call_1: running, not to be run twice',
    '  call call_2: its input is being written',
    lines[5],
    'waits to be taken up: input in_1 (steer): a⏎b␛[31m',
    'waits to be taken up: compact in_2 (queue)',
    '',
  ])
  t.match(lines[5], /^waits for an answer: permission req_1: run \(rm rm .*…$/)
  t.ok(lines.every((line) => displayWidth(line) <= 80))
})
