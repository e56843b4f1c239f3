import type { RouteDeps } from './deps.ts'

/** Counters of this process, as Prometheus reads them. */
export type Metrics = {
  /** One answered request; `route` is the route's pattern, so that there are few. */
  answered(request: {
    readonly method: string
    readonly route: string
    readonly status: number
    readonly seconds: number
  }): void
  /** The text of `/metrics`, exposition format 0.0.4. */
  text(): string
}

export const createMetrics = ({
  pool,
  log,
  feeds,
  outlets,
}: Pick<RouteDeps, 'pool' | 'log' | 'feeds' | 'outlets'>): Metrics => {
  const requests = new Map<string, number>()
  const durations = new Map<string, { seconds: number; count: number }>()
  const startedAt = Math.round(Date.now() / 1000)
  let appends = 0
  log.onAppended(() => (appends += 1))

  const unsent = (): number => [...outlets].reduce((sum, outlet) => sum + outlet.unsent, 0)

  return {
    answered: ({ method, route, status, seconds }) => {
      const place = `method="${method}",route="${route}"`
      const key = `${place},status="${status}"`
      requests.set(key, (requests.get(key) ?? 0) + 1)
      const spent = durations.get(place) ?? { seconds: 0, count: 0 }
      spent.seconds += seconds
      spent.count += 1
      durations.set(place, spent)
    },
    text: () => {
      const { lastSuccessAt, position } = log.horizon
      const age = lastSuccessAt === 0 ? Number.NaN : (Date.now() - lastSuccessAt) / 1000
      return [
        counter('stemma_http_requests_total', 'Requests answered.'),
        ...[...requests].map(([labels, n]) => `stemma_http_requests_total{${labels}} ${n}`),
        '# HELP stemma_http_request_seconds Time from a request to its answer.',
        '# TYPE stemma_http_request_seconds summary',
        ...[...durations].flatMap(([labels, { seconds, count }]) => [
          `stemma_http_request_seconds_sum{${labels}} ${seconds}`,
          `stemma_http_request_seconds_count{${labels}} ${count}`,
        ]),
        counter('stemma_appends_total', 'Commits of sessions made by this server.'),
        `stemma_appends_total ${appends}`,
        gauge('stemma_database_connections', 'Connections, open or being opened.', pool.size),
        gauge('stemma_database_waiting', 'Callers that wait for a connection.', pool.waiting),
        gauge('stemma_streams', 'Sockets and streams that are open.', outlets.size),
        gauge('stemma_stream_unsent_bytes', 'Bytes that readers have not taken.', unsent()),
        gauge('stemma_followed_sessions', 'Sessions that somebody follows.', feeds.size),
        gauge('stemma_horizon_position', 'The position up to which the log is complete.', position),
        gauge('stemma_horizon_age_seconds', 'Time since the horizon was last read.', age),
        gauge('process_resident_memory_bytes', 'Memory.', process.memoryUsage.rss()),
        gauge('process_start_time_seconds', 'Start, in seconds since the epoch.', startedAt),
        '',
      ].join('\n')
    },
  }
}

const counter = (name: string, help: string): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} counter`

const gauge = (name: string, help: string, value: number): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}`
