/** The entry under `key`, if the record has one of its own (an id may be `constructor`). */
export const own = <T>(
  record: Readonly<Record<string, T>> | undefined,
  key: string | undefined,
): T | undefined =>
  record !== undefined && key !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
