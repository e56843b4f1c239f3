import type { Bench } from '../bench.ts'
import { appendRows } from './append.ts'
import { httpRow, socketRow } from './http.ts'
import { oldSnapshotRow } from './old-snapshot.ts'
import { peersRow } from './peers.ts'
import { rebuildRow } from './rebuild.ts'
import { serversRow } from './servers.ts'
import { transcriptPageRow } from './transcript-page.ts'

/** Every row that is measured, in the order of the design's table. */
export const rows: readonly Bench[] = [
  ...appendRows,
  peersRow,
  serversRow,
  httpRow,
  socketRow,
  oldSnapshotRow,
  transcriptPageRow,
  rebuildRow,
]

/** Rows of the design's table whose code is not here yet; each will be a file beside this one. */
export const planned: readonly { readonly name: string; readonly about: string }[] = [
  { name: 'subscriber', about: 'append to a subscriber on another server' },
  { name: 'fork', about: 'fork at 10 and at 100,000 events' },
  { name: 'deep-page', about: 'transcript page of 50 from a session 20 forks deep' },
  { name: 'memory', about: '10,000 idle subscribers, and a slow reader' },
]
