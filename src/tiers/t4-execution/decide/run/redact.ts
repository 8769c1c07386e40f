/** The comparison of a masked payload with its original, and the marker of screened output. */
import type { Json } from "../../../../contract/json.ts";
import { redactedMarker } from "../../../../contract/redact.ts";

export const sanitizedMarker = "[Output sanitized]";
/** The number of characters of an output that one check reads. */
export const checkedChars = 5000;

/** Returns whether `shown` equals the original except for masked values. */
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
