/** What masking left of a payload, and the marker of what screening took out. */
import type { Json } from "../../../../contract/json.ts";
import { redactedMarker } from "../../../../contract/redact.ts";

export const sanitizedMarker = "[Output sanitized]";
/** Characters of an output that one check sees. */
export const checkedChars = 5000;

/** Returns whether what is shown is the original, but for what was masked. */
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
