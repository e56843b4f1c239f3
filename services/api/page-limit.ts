import { Refusal } from '../../schema/errors.ts'
import type { ApiDeps } from './deps.ts'

/** Entries of a page: what was asked for, within the settings. Throws Refusal `invalid_limit`. */
export const limitOf = (
  query: { readonly limit?: number },
  { defaultPage, maxPage }: ApiDeps['settings'],
): number => {
  const limit = query.limit ?? defaultPage
  if (limit <= maxPage) return limit
  throw new Refusal('invalid_limit', `the limit is ${maxPage} at most`, {
    faults: [{ pointer: '/limit', detail: `must be <= ${maxPage}` }],
  })
}
