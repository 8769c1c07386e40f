/** Masks values that policy hides. */
import type { Json } from "./json.ts";

export const redactedMarker = "[redacted]";

/** Replaces the values at dotted paths of a payload by `mask`, for ALLOW_WITH_REDACTION. */
export function redact(value: Json, paths: readonly string[], mask = redactedMarker): Json {
  return paths.reduce<Json>((at, path) => maskPath(at, path.split("."), mask), value);
}

function maskPath(value: Json, [key, ...rest]: readonly string[], mask: string): Json {
  if (key === undefined) return mask;
  if (Array.isArray(value))
    return value.map((item, i) => (key === "*" || String(i) === key ? maskPath(item, rest, mask) : item));
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: maskPath((value as Record<string, Json>)[key] as Json, rest, mask) };
}

/**
 * Returns whether a path leads to something that a mask can replace. A part that is masked already, or an empty list,
 * counts.
 */
export const hasPlace = (value: Json, path: string): boolean => leadsOn(value, path.split("."));

function leadsOn(value: Json, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined || value === redactedMarker) return true;
  if (Array.isArray(value)) {
    const items = value.filter((_item, i) => key === "*" || String(i) === key);
    return (key === "*" && items.length === 0) || items.some((item) => leadsOn(item, rest));
  }
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
  return leadsOn((value as Record<string, Json>)[key] as Json, rest);
}
