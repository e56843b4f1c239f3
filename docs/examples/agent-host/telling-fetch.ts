import type { Send } from './store.ts'

/** `fetch` that says, once for each outage, that the service cannot be reached, and that it can again. */
export const tellingFetch = (say: (text: string) => void): Send => {
  let away = false
  return async (url, request) => {
    try {
      const response = await fetch(url, request)
      if (away) say('the service can be reached again')
      away = false
      return response
    } catch (error) {
      if (!away && !request.signal?.aborted) say(`cannot reach ${new URL(url).origin}, trying on`)
      away = true
      throw error
    }
  }
}
