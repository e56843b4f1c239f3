/**
 * Whether an RFC 3339 time is one that the database keeps and gives back: a day that the calendar
 * has, an offset below 16 hours, a year of four digits in UTC too. (`Date.parse` takes the 31st of
 * February.) The form was checked before.
 */
export const isInstant = (text: string): boolean => {
  const found = form.exec(text)
  if (!found) return false
  const [year, month, day, hour, minute, second, offsetHour = 0, offsetMinute = 0] = found
    .slice(1)
    .map((digits) => (digits === undefined ? undefined : Number(digits))) as [
    ...[number, number, number, number, number, number],
    ...[number?, number?],
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return false
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 15 || offsetMinute > 59) return false
  const utcYear = new Date(text).getUTCFullYear()
  return utcYear >= 1 && utcYear <= 9999
}

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-](\d\d):(\d\d))$/

const daysOf = (year: number, month: number): number => {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!
}
