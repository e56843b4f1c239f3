import { Refusal } from '../../schema/errors.ts'
import { ServiceProblem, ServiceUnreachable } from './client-request.ts'
import { visible } from './visible.ts'

/** A failure as a person should read it: what is wrong, where, and what to do next. */
export const describeFailure = (error: unknown): string => {
  if (error instanceof ServiceUnreachable) return unreachable(error)
  if (error instanceof ServiceProblem) return problem(error)
  if (error instanceof Refusal) {
    return withFaults(`${error.message} (${error.code})`, error.faults)
  }
  if (!(error instanceof Error)) return visible(String(error))
  // Errors of the system (no such file, no such host) say it in their message; others are ours.
  return visible('code' in error ? error.message : (error.stack ?? error.message))
}

const unreachable = ({ url, cause }: ServiceUnreachable): string => {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : undefined
  const why = reason && 'code' in reason ? ` (${String(reason.code)})` : ''
  return `no service answers at ${url}${why}.
Start one with "npm start" or "npx stemma serve", or say with STEMMA_URL where it is.`
}

const problem = ({ problem: { status, title, code, detail, errors } }: ServiceProblem): string => {
  const head = `${title ?? 'the service refused'} (${code ?? status})`
  const lines = detail === undefined || detail === title ? head : `${head}\n  ${detail}`
  const hint = code === 'unauthorized' ? `\n${tokenHint}` : ''
  return withFaults(visible(lines), errors ?? []) + hint
}

const tokenHint = `Set STEMMA_TOKEN to a token that the service takes: one whose entry is in its STEMMA_TOKENS_FILE.
"stemma token" makes one.`

const withFaults = (
  head: string,
  faults: readonly { readonly pointer: string; readonly detail: string }[],
): string =>
  [head, ...faults.map(({ pointer, detail }) => visible(`  ${pointer || '/'}: ${detail}`))].join(
    '\n',
  )
