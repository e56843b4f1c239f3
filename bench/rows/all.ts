import type { Bench } from '../bench.ts'
import { appendRows } from './append.ts'
import { httpRow, socketRow } from './http.ts'
import { oldSnapshotRow } from './old-snapshot.ts'
import { memoryRow } from './memory.ts'
import { peersRow } from './peers.ts'
import { rebuildRow } from './rebuild.ts'
import { serversRow } from './servers.ts'
import { subscriberRow } from './subscriber.ts'
import { transcriptPageRow } from './transcript-page.ts'

/** Every row that is measured, in the order of the design's table. */
export const rows: readonly Bench[] = [
  ...appendRows,
  peersRow,
  serversRow,
  httpRow,
  socketRow,
  subscriberRow,
  oldSnapshotRow,
  transcriptPageRow,
  rebuildRow,
  memoryRow,
]

/** Rows of the design's table whose code is not here yet; each will be a file beside this one. */
export const planned: readonly { readonly name: string; readonly about: string }[] = [
  { name: 'fork', about: 'fork at 10 and at 100,000 events' },
  { name: 'deep-page', about: 'transcript page of 50 from a session 20 forks deep' },
  { name: 'slow-reader', about: 'memory of a server whose readers do not read' },
]
