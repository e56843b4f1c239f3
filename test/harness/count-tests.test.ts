import t from 'tap'
import { countTests } from './count-tests.ts'

t.test('tests are counted one level below their files, and assertions are not', async (t) => {
  const tap = `TAP version 14
1..1
# Subtest: a.test.ts
    # Subtest: one
        ok 1 - should be equal
        not ok 2 - should be equal
        1..2
    not ok 1 - one # time=5ms
    # Subtest: two
        ok 1 - x
    ok 2 - two # time=5ms
    ok 3 - three # SKIP no server
    1..3
not ok 1 - a.test.ts # time=42ms
`
  t.strictSame(countTests(tap), { passed: 1, failed: 1, skipped: 1 })
})

t.test('a file that fails without a failing test counts as a failed test', async (t) => {
  const tap = `    ok 1 - one
not ok 1 - a.test.ts # time=42ms
    ok 1 - one
ok 2 - b.test.ts
`
  t.strictSame(countTests(tap), { passed: 2, failed: 1, skipped: 0 })
})

t.test('a failing test counts although tap was stopped before its file ended', async (t) => {
  t.strictSame(countTests('    not ok 1 - one\n'), { passed: 0, failed: 1, skipped: 0 })
})
