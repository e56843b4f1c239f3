/**
 * The value with U+FFFD for each lone surrogate, which no provider takes in a request; the value
 * itself if there is none. What is opaque (`providerState`) stays.
 */
export const wellFormed = <T>(value: T): T => walk(value) as T

const walk = (value: unknown): unknown => {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(walk)
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  let isChanged = false
  const members = Object.entries(value).map(([key, member]) => {
    const next = [key.toWellFormed(), key === 'providerState' ? member : walk(member)] as const
    if (next[0] !== key || next[1] !== member) isChanged = true
    return next
  })
  return isChanged ? Object.fromEntries(members) : value
}
