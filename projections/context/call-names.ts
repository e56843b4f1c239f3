/** Call ids that are given, and how often an id was wanted, for the next number. */
export type CallNames = {
  readonly taken: Set<string>
  readonly wanted: Map<string, number>
}

export const noCallNames = (): CallNames => ({ taken: new Set(), wanted: new Map() })

// What Anthropic's Messages, OpenAI's Chat Completions and its Responses all take.
const longestId = 40
const longestName = 64

/**
 * The id of a call in the context: its own if that was not used before (a call's id is unique in its
 * message only), else with `_2`, `_3` … It depends on what stands before it alone, so a context that
 * grows keeps the ids that it had.
 */
export const uniqueCallId = (names: CallNames, partId: string): string => {
  const plain = takenByAll(partId, longestId)
  let id = plain
  let count = names.wanted.get(plain) ?? 1
  while (names.taken.has(id)) {
    count += 1
    const suffix = `_${count}`
    id = `${plain.slice(0, longestId - suffix.length)}${suffix}`
  }
  names.wanted.set(plain, count)
  names.taken.add(id)
  return id
}

/** A tool's name with `_` for what no provider takes in one. */
export const toolName = (name: string): string => takenByAll(name, longestName)

const takenByAll = (text: string, longest: number): string =>
  text.replaceAll(/[^\w-]/g, '_').slice(0, longest)
