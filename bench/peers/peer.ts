/** Another store on a database of its own. */
export type Peer = AsyncDisposable & {
  readonly name: string
  /** Makes what appends to one stream of its own, one event a call. */
  readonly stream: () => () => Promise<unknown>
}

export const connections = 64
