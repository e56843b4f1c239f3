import t from 'tap'
import type { RebuildProgress } from '../projector/rebuild/read-rebuild.ts'
import { renderRebuild } from './render-rebuild.ts'

const progress: RebuildProgress = {
  generation: 2,
  replaces: 1,
  phase: 'filling',
  outcome: null,
  verify: true,
  difference: null,
  beganAt: '2026-01-01T00:00:00Z',
  endedAt: null,
  sessions: 3,
  filledSessions: 2,
  verifiedSessions: 1,
  events: 9,
}

t.test(
  'how a rebuild stands is said in a line: sessions done of how many, and the rate',
  async (t) => {
    t.equal(renderRebuild(progress, 99.6), 'generation 2: 2 of 3 sessions (66 %), 100 events/s')
    t.equal(
      renderRebuild({ ...progress, phase: 'verifying' }, 0),
      'generation 2: compared 1 of 3 sessions (33 %)',
    )
    t.match(renderRebuild({ ...progress, phase: 'differs' }, 0), /and they differ$/)
    t.match(renderRebuild({ ...progress, sessions: 0, filledSessions: 0 }, 0), /100 %/)
  },
)
