import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '../../../schema/errors.ts'
import type { Settings } from '../../settings.ts'
import { isLoopback } from '../plugins/principal.ts'

type OriginSettings = Pick<Settings, 'host' | 'origins' | 'tokensFile'>
type OriginHeaders = Pick<IncomingHttpHeaders, 'host' | 'origin'>

/**
 * Refuses pages that have no business here. A page names itself in Origin; who sends none is a
 * program. Allowed are the origins that are listed, the server's own, and on loopback those of this
 * machine. Without tokens nothing else tells a caller from a page that somebody here happens to
 * look at, so Host must name this machine, too: the name of a foreign page can be bent to our
 * address. Throws Refusal `forbidden`.
 */
export const checkOrigin = (
  { host, origin }: OriginHeaders,
  { host: address, origins, tokensFile }: OriginSettings,
): void => {
  const withoutTokens = tokensFile === undefined
  if (withoutTokens && host !== undefined && !isLoopback(hostnameOf(`http://${host}`))) {
    throw new Refusal('forbidden', 'Host does not name this machine')
  }
  if (origin === undefined || origins.includes(origin)) return
  if (isLoopback(address) && isLoopback(hostnameOf(origin))) return
  if (!withoutTokens && isSame(origin, host)) return
  throw new Refusal('forbidden', 'the page that sent this request is not of an allowed origin')
}

/** The same for the upgrade to a socket, which browsers let any page ask for. */
export const checkSocketOrigin = (headers: OriginHeaders, settings: OriginSettings): void =>
  checkOrigin(headers, settings)

/** Which scheme we are reached by only a proxy before us knows: the origin's own is taken. */
const isSame = (origin: string, host: string | undefined): boolean => {
  const page = URL.parse(origin)
  if (host === undefined || (page?.protocol !== 'http:' && page?.protocol !== 'https:'))
    return false
  return URL.parse(`${page.protocol}//${host}`)?.origin === page.origin
}

const hostnameOf = (url: string): string => URL.parse(url)?.hostname ?? ''
