import t, { type Test } from 'tap'
import { importInto, messagesOf } from '../../../test/harness/import-rehearsal.ts'
import {
  comparableMessages,
  expectedMessages,
  readRecording,
  readRecordings,
  type Recording,
} from '../../../test/harness/opencode-messages.ts'
import { rehearse, type Rehearsal } from '../../../test/harness/rehearsal.ts'
import { translateOpencodeV2 } from './translate.ts'

const compare = (t: Test, rehearsal: Rehearsal, recording: Recording): void => {
  t.same(comparableMessages(messagesOf(rehearsal), recording), expectedMessages(recording))
}

const cut = (recording: Recording, length: number): Recording => ({
  ...recording,
  history: recording.history.slice(0, length),
})

for (const recording of readRecordings()) {
  t.test(`${recording.name}: the transcript says what OpenCode's own messages say`, async (t) => {
    const rehearsal = rehearse()
    t.equal(importInto(rehearsal, translateOpencodeV2(recording)).duplicates, 0)
    compare(t, rehearsal, recording)
    const { turn, step, requests } = rehearsal.session.state
    t.same([turn, step, requests], [undefined, undefined, undefined], 'nothing is left open (46)')
    const { head } = rehearsal.session
    t.equal(importInto(rehearsal, translateOpencodeV2(recording)).added, 0)
    t.equal(rehearsal.session.head, head, 'importing again changes nothing (44)')
  })
}

t.test('a copy that grew by one event at a time gives the transcript of the whole', async (t) => {
  for (const recording of readRecordings().filter(({ history }) => history.length < 100)) {
    const grown = rehearse()
    for (let length = 0; length <= recording.history.length; length += 1) {
      importInto(grown, translateOpencodeV2(cut(recording, length)))
    }
    compare(t, grown, recording)
    const { head } = grown.session
    for (const length of [0, 1, recording.history.length - 1]) {
      t.equal(importInto(grown, translateOpencodeV2(cut(recording, length))).added, 0)
    }
    t.equal(grown.session.head, head, 'and a shorter copy changes nothing')
  }
})

t.test(
  'question-pending grows into its interrupted self, and revert-staged is cleared',
  async (t) => {
    for (const [before, after] of [
      ['question-pending', 'question-pending-interrupted'],
      ['revert-staged', 'revert-cleared'],
    ] as const) {
      const rehearsal = rehearse()
      importInto(rehearsal, translateOpencodeV2(readRecording(before)))
      compare(t, rehearsal, readRecording(before))
      t.not(importInto(rehearsal, translateOpencodeV2(readRecording(after))).added, 0)
      compare(t, rehearsal, readRecording(after))
      t.equal(importInto(rehearsal, translateOpencodeV2(readRecording(before))).added, 0)
    }
  },
)

t.test('a session that needs many calls comes in as it does in one', async (t) => {
  const recording = readRecording('long-session')
  const [one, many] = [rehearse(), rehearse()]
  importInto(one, translateOpencodeV2(recording), 10_000)
  importInto(many, translateOpencodeV2(cut(recording, 777)), 7)
  importInto(many, translateOpencodeV2(recording), 7)
  compare(t, one, recording)
  compare(t, many, recording)
})

t.test(
  'the answer to a question is a user row that stands before its call has settled',
  async (t) => {
    const rehearsal = rehearse()
    importInto(rehearsal, translateOpencodeV2(readRecording('question-answered')))
    const types = rehearsal.log.map(({ type }) => type)
    const at = types.indexOf('request.opened')
    t.equal(types[at - 1], 'tool.called')
    t.same(types.slice(types.indexOf('request.answered')).slice(0, 2), [
      'request.answered',
      'tool.settled',
    ])
    const answer = messagesOf(rehearsal).find(({ origin }) => origin === 'answer')
    t.match(answer, { type: 'user', answers: [['Postgres']], by: { subject: 'opencode' } })
  },
)

t.test('a comparison that finds nothing would find a changed word', async (t) => {
  const recording = readRecording('two-prompts')
  const changed = JSON.parse(
    JSON.stringify(recording).replaceAll('All done', 'All gone'),
  ) as Recording
  const rehearsal = rehearse()
  importInto(rehearsal, translateOpencodeV2({ ...changed, messages: recording.messages }))
  t.not(
    JSON.stringify(comparableMessages(messagesOf(rehearsal), recording)),
    JSON.stringify(expectedMessages(recording)),
  )
})
