/**
 * The fields of a payload that run and that a gate's preview does not show.
 *
 * 1.  A long text that the preview contains whole, or that is the preview, is shown. All other fields count as hidden:
 *     a short value that also occurs in a long one (a folder that a letter mentions) does not show its field.
 * 2.  A preview that begins with the payload itself, on lines of its own, hides nothing.
 */
import type { Json } from "../contract/json.ts";
import type { PresentedFact } from "../contract/present.ts";
import { tellPlain } from "./present-facts.ts";

export interface HiddenField {
  /** The path, such as `to[0].address`; `payload` if the payload is one value. */
  readonly path: string;
  readonly value: Json;
}

/** The length, in characters, from which an equal text inside another counts as shown. */
const longText = 200;

/** Lists the fields in the payload's order; empty lists and objects count as values. */
export function listHiddenFields(payload: Json, preview: string): readonly HiddenField[] {
  if (saysPayload(preview, payload)) return [];
  const shown = new Set<Json>();
  return leavesOf(payload, "").filter(({ value }) => {
    if (shown.has(value) || !isInPreview(value, preview)) return true;
    shown.add(value);
    return false;
  });
}

/**
 * Lists the fields that neither the facts nor the preview show, in the payload's order. A preview that is the payload
 * itself counts as not shown: a page may leave it behind a fold. Each value of a fact shows one field.
 */
export function listOtherFields(
  payload: Json,
  { facts, preview }: { readonly facts: readonly Pick<PresentedFact, "value">[]; readonly preview: string },
): readonly HiddenField[] {
  const shown = facts.flatMap(({ value }) => (Array.isArray(value) ? value : [value]));
  const isPayload = saysPayload(preview, payload);
  return leavesOf(payload, "").filter(({ value }) => {
    const at = shown.findIndex((one) => one === value || one === tellPlain(value));
    if (at >= 0) shown.splice(at, 1);
    return at < 0 && (isPayload || !isInPreview(value, preview));
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

/** Joins a path; a key that contains a dot or bracket is quoted. */
function joinPath(path: string, key: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
