/** An event came too early: read on from `afterSeq`. */
export class SeqGap extends Error {
  override readonly name = 'SeqGap'
  readonly afterSeq: number

  constructor(afterSeq: number, seq: number) {
    super(`event ${seq} came where ${afterSeq + 1} was due`)
    this.afterSeq = afterSeq
  }
}
