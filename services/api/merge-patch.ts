type JsonObject = Readonly<Record<string, unknown>>

/** What a merge patch (RFC 7396) makes of a value. */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, mergePatch(merged.get(key), value))
  }
  // fromEntries makes `__proto__` a key like any other.
  return Object.fromEntries(merged)
}

/** The members of an object that a merge patch sets and removes, as far as it changes them. */
export const changesOf = (
  current: JsonObject,
  patch: JsonObject | null,
): { readonly set: JsonObject; readonly unset: readonly string[] } => {
  if (patch === null) return { set: {}, unset: Object.keys(current) }
  const entries = Object.entries(patch)
  return {
    set: Object.fromEntries(
      entries
        .filter(([, value]) => value !== null)
        .map(([key, value]) => [key, mergePatch(ownMember(current, key), value)]),
    ),
    unset: entries.filter(([, value]) => value === null).map(([key]) => key),
  }
}

/** Whether what the patch makes depends on what is there. */
export const needsCurrent = (patch: JsonObject | null): boolean =>
  patch === null || Object.values(patch).some(isObject)

const ownMember = (object: JsonObject, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
