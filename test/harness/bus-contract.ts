import { setTimeout as sleep } from 'node:timers/promises'
import type t from 'tap'
import type { Bus, Ring } from '../../services/bus/bus.ts'

/** What every bus must do. `join` opens one server's bus of the kind; the contract closes it. */
export const testBus = (
  test: typeof t,
  kind: string,
  openKind: () => Promise<AsyncDisposable & { readonly join: () => Bus }>,
): void => {
  void test.test(
    `bus ${kind}: a ring reaches every other server, and not the one that rang`,
    async (t) => {
      await using place = await openKind()
      const [a, b, c] = [place.join(), place.join(), place.join()]
      await Promise.all([a.ready, b.ready, c.ready])
      const [inA, inB, inC] = [hear(a), hear(b), hear(c)]
      a.ring({ sid: 1, headSeq: 5 })
      await until(() => inB.get(1) === 5 && inC.get(1) === 5)
      t.same([inA.get(1), inB.get(1), inC.get(1)], [undefined, 5, 5])
      await closeAll([a, b, c])
    },
  )

  void test.test(
    `bus ${kind}: of many rings of many sessions the last of each arrives`,
    async (t) => {
      await using place = await openKind()
      const [a, b] = [place.join(), place.join()]
      await Promise.all([a.ready, b.ready])
      const heard = hear(b)
      for (let head = 1; head <= 5; head += 1) {
        for (let sid = 1; sid <= 2_000; sid += 1) a.ring({ sid, headSeq: head })
        await sleep(3)
      }
      await until(() => heard.size === 2_000 && [...heard.values()].every((head) => head === 5))
      t.equal(heard.size, 2_000)
      t.ok([...heard.values()].every((head) => head === 5))
      await closeAll([a, b])
    },
  )

  void test.test(`bus ${kind}: who has left hears nothing and holds nothing up`, async (t) => {
    await using place = await openKind()
    const [a, b] = [place.join(), place.join()]
    await Promise.all([a.ready, b.ready])
    const heard = hear(b)
    const stop = b.onRing(() => t.fail('it had stopped listening'))
    stop()
    await b[Symbol.asyncDispose]()
    a.ring({ sid: 1, headSeq: 1 })
    await sleep(100)
    t.equal(heard.size, 0)
    await a[Symbol.asyncDispose]()
    a.ring({ sid: 1, headSeq: 2 })
  })
}

const hear = (bus: Bus): Map<number, number> => {
  const heads = new Map<number, number>()
  bus.onRing((rings: readonly Ring[]) => {
    for (const { sid, headSeq } of rings) heads.set(sid, Math.max(headSeq, heads.get(sid) ?? 0))
  })
  return heads
}

const until = async (done: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 1_000 && !done(); tries += 1) await sleep(10)
}

const closeAll = (buses: readonly Bus[]): Promise<unknown> =>
  Promise.all(buses.map((bus) => bus[Symbol.asyncDispose]()))
