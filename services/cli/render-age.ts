const units = [
  { seconds: 86_400, name: 'd' },
  { seconds: 3_600, name: 'h' },
  { seconds: 60, name: 'min' },
] as const

/** How long ago something was, in one unit: `now`, `5 min ago`, `3 h ago`; over 60 days the date. */
export const ageOf = (timestamp: string, now: number): string => {
  const then = Date.parse(timestamp)
  if (Number.isNaN(then)) return timestamp
  const seconds = Math.max(0, (now - then) / 1000)
  if (seconds > 60 * 86_400) return timestamp.slice(0, 10)
  for (const unit of units) {
    if (seconds >= unit.seconds) return `${Math.floor(seconds / unit.seconds)} ${unit.name} ago`
  }
  return 'now'
}
