/**
 * What a gate's preview leaves out: the fields of the payload that run and that the preview does not say.
 *
 * 1.  Long texts that stand in the preview whole are said there, and so is the one that is the preview. All else is left
 *     out: a short value that also occurs in a long one (a folder that a letter mentions) says nothing of its field.
 * 2.  A preview that begins with the payload itself, on lines of its own, leaves nothing out.
 */
import type { Json } from "../contract/json.ts";

export interface HiddenField {
  /** As in `to[0].address`; where the payload is one value, `payload`. */
  readonly path: string;
  readonly value: Json;
}

/** From here on a text is taken to be the same where it stands in another. In characters. */
const longText = 200;

/** In the payload's order; empty lists and objects count as values. */
export function listHiddenFields(payload: Json, preview: string): readonly HiddenField[] {
  if (saysPayload(preview, payload)) return [];
  const shown = new Set<Json>();
  return leavesOf(payload, "").filter(({ value }) => {
    if (shown.has(value) || !isInPreview(value, preview)) return true;
    shown.add(value);
    return false;
  });
}

/** Returns whether a preview is the payload, or begins with all of it: `1` does not begin `12 cents`. */
export const saysPayload = (preview: string, payload: Json): boolean =>
  `${preview}\n`.startsWith(`${JSON.stringify(payload, null, 2)}\n`);

const isInPreview = (value: Json, preview: string): boolean =>
  typeof value === "string" && (value === preview || (value.length >= longText && preview.includes(value)));

function leavesOf(value: Json, path: string): readonly HiddenField[] {
  const inside = itemsOf(value, path);
  return inside.length === 0
    ? [{ path: path || "payload", value }]
    : inside.flatMap(([item, itemPath]) => leavesOf(item, itemPath));
}

function itemsOf(value: Json, path: string): readonly (readonly [Json, string])[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.map((item, i) => [item, `${path}[${i}]`]);
  return Object.entries(value).map(([key, item]) => [item, joinPath(path, key)]);
}

/** A key that a dot or bracket could be part of is quoted. */
function joinPath(path: string, key: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
