/** Masking what policy lets nobody see, and the marker of what screening took out. */
import type { Json } from "../../../contract/json.ts";

export const sanitizedMarker = "[Output sanitized]";
/** Characters of an output that one check sees (seed 002 section 10). */
export const checkedChars = 5000;
const redactedMarker = "[redacted]";

/** Masks dotted paths of a payload, for ALLOW_WITH_REDACTION. */
export function redact(value: Json, paths: readonly string[]): Json {
  return paths.reduce<Json>((at, path) => maskPath(at, path.split(".")), value);
}

/** Whether what is shown is the original, but for what was masked. */
export function isMaskedCopy(shown: Json, original: Json): boolean {
  if (shown === original || shown === redactedMarker) return true;
  if (typeof shown !== "object" || typeof original !== "object" || shown === null || original === null) return false;
  const [now, before] = [shown, original].map((value) => new Map(Object.entries(value))) as [
    Map<string, Json>,
    Map<string, Json>,
  ];
  const isAlike = Array.isArray(shown) === Array.isArray(original) && now.size === before.size;
  return isAlike && [...now].every(([key, value]) => before.has(key) && isMaskedCopy(value, before.get(key) as Json));
}

function maskPath(value: Json, [key, ...rest]: readonly string[]): Json {
  if (key === undefined) return redactedMarker;
  if (Array.isArray(value))
    return value.map((item, i) => (key === "*" || String(i) === key ? maskPath(item, rest) : item));
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return value;
  return { ...value, [key]: maskPath((value as Record<string, Json>)[key] as Json, rest) };
}
