/**
 * The edits of a gate's payload: who changed which values, and when.
 *
 * Owns: the comparison of two payloads, value by value. Never: shows a value that is masked in the present payload.
 */
import type { Gate } from "../src/contract/gate.ts";
import type { GateChange, GateEdit } from "../src/contract/gate-edit.ts";
import type { PrincipalRef } from "../src/contract/gate-vote.ts";
import type { Json } from "../src/contract/json.ts";
import type { redactedMarker } from "../src/contract/redact.ts";

type Leaves = ReadonlyMap<string, Json>;

/** The marker that policy leaves in place of a masked value; the compiler compares it with the contract's. */
const masked: typeof redactedMarker = "[redacted]";

interface Revision {
  readonly gate: Gate;
  readonly cause: "edit" | "regenerate" | "policy" | "basis";
  readonly principal: PrincipalRef | null;
  readonly comment?: string;
}

/**
 * Returns the edits behind what the gate shows after a revision: a new draft has none of those of the draft before it.
 */
export function editsAfter(
  standing: Gate,
  { gate, cause, principal, comment }: Revision,
  at: string,
): readonly GateEdit[] {
  if (!gate.edited) return [];
  const [before, after] = [leavesOf(standing.payload), leavesOf(gate.payload)];
  const edits = [...(standing.edits ?? [])];
  if (cause === "edit" && principal !== null) {
    const { type, id } = principal;
    edits.push({
      ...{ by: { type, id }, at, changes: changesBetween(before, after) },
      ...(comment === undefined ? {} : { comment }),
    });
  }
  return edits.map((edit) => ({ ...edit, changes: edit.changes.map((change) => maskChange(change, after)) }));
}

function changesBetween(before: Leaves, after: Leaves): GateChange[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.flatMap((path) => {
    const [from, to] = [before.get(path), after.get(path)];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    return [{ path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }];
  });
}

/** Masks a change where policy masks the payload now: at that place, inside it, and around it. */
function maskChange(change: GateChange, now: Leaves): GateChange {
  const { path } = change;
  const isHidden = [...now].some(
    ([place, value]) => value === masked && (isInside(path, place) || isInside(place, path)),
  );
  if (!isHidden) return change;
  return { path, ...("from" in change ? { from: masked } : {}), ...("to" in change ? { to: masked } : {}) };
}

const isInside = (path: string, place: string): boolean =>
  path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);

/** Returns every value without members, under its path; empty lists and objects count as values. */
function leavesOf(payload: Json): Leaves {
  const leaves = new Map<string, Json>();
  const visit = (value: Json, path: string): void => {
    const inside = itemsOf(value, path);
    if (inside.length === 0) leaves.set(path || "payload", value);
    for (const [item, itemPath] of inside) visit(item, itemPath);
  };
  visit(payload, "");
  return leaves;
}

function itemsOf(value: Json, path: string): readonly (readonly [Json, string])[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.map((item, at) => [item, `${path}[${at}]`]);
  return Object.entries(value).map(([key, item]) => [item, joinPath(path, key)]);
}

/** Joins a path; a key that contains a dot or bracket is quoted. */
function joinPath(path: string, key: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
