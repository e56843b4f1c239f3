import t from 'tap'
import { plain } from './paint.ts'
import { renderWork } from './render-work.ts'

t.test(
  'what waits is a line: its kind, its session and what it is, and drives no terminal',
  async (t) => {
    const at = { sessionId: 'ses_1', seq: 3 }
    t.equal(
      renderWork({ kind: 'input', ...at, messageId: 'msg_1' }, plain),
      'input   ses_1         msg_1\n',
    )
    t.equal(
      renderWork({ kind: 'answer', ...at, requestId: 'req_1' }, plain),
      'answer  ses_1         to req_1\n',
    )
    t.equal(
      renderWork({ kind: 'turn', ...at, turnId: 'trn\u001b[2J', fromFence: 2 }, plain).includes(
        '\u001b',
      ),
      false,
    )
    t.match(
      renderWork({ kind: 'turn', ...at, turnId: 'trn_1', fromFence: 2 }, plain),
      /trn_1 from fence 2\n$/,
    )
  },
)
