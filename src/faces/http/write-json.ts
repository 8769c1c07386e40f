/**
 * JSON text in pieces: the text of a large value never exists as a whole, and others are served between two pieces.
 *
 * 1.  The pieces, put together, are the text that JSON.stringify returns.
 * 2.  A piece has about `pieceChars` characters, however long one text or one list of the value is.
 * 3.  Measuring a value gives way to others as well, and needs no text.
 */
import { setImmediate } from "node:timers";

/** The characters after which a piece is full. */
export const pieceChars = 65_536;
/** The work of measuring after which others are served, in nodes; a text counts by its length. */
const sliceNodes = 20_000;
const charsPerNode = 256;
/** The characters that a number, a truth value or null is taken to have. */
const plainChars = 6;

/** Resolves when the event loop has served others. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Returns the text of a value that `isShortJson` says is short, and that has a text at all. */
export const textOf = (value: unknown): string => JSON.stringify(value) ?? "null";

/** Returns whether the text of a value has, escapes left out, no more characters than this. */
export const isShortJson = (value: unknown, chars: number): boolean => leftOf(value, chars) >= 0;

/** Yields the text of a value in pieces. */
export function* writeJson(value: unknown): Generator<string, void, void> {
  let piece = "";
  for (const part of partsOf(readable(value))) {
    piece += part;
    if (piece.length < pieceChars) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}

/** Returns the bytes of a value's text, escapes left out. */
export async function measureJson(value: unknown): Promise<number> {
  const open: unknown[] = [value];
  let bytes = 0;
  let nodes = 0;
  while (open.length > 0) {
    const next = readable(open.pop());
    bytes += bytesAlone(next);
    if (typeof next === "object" && next !== null) for (const member of Object.values(next)) open.push(member);
    nodes += typeof next === "string" ? 1 + next.length / charsPerNode : 1;
    if (nodes < sliceNodes) continue;
    nodes = 0;
    await nextTurn();
  }
  return bytes;
}

/** Returns the bytes of a value without its members. */
function bytesAlone(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 3;
  if (typeof value !== "object" || value === null) return plainChars;
  if (Array.isArray(value)) return 2;
  return Object.keys(value).reduce((sum, key) => sum + key.length + 3, 2);
}

/** Returns the value that JSON writes for this one. */
function readable(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value) : value;
}

/** Returns how many of `chars` characters are left when the value is written; less than 0 as soon as they do not do. */
function leftOf(given: unknown, chars: number): number {
  const value = readable(given);
  if (typeof value === "string") return chars - value.length - 3;
  if (typeof value !== "object" || value === null) return chars - plainChars;
  let left = chars - 2;
  const isList = Array.isArray(value);
  for (const key of isList ? value.keys() : Object.keys(value)) {
    if (typeof key === "string") left -= key.length + 3;
    left = leftOf((value as Record<string | number, unknown>)[key], left);
    if (left < 0) return left;
  }
  return left;
}

function* partsOf(value: unknown): Generator<string, void, void> {
  if (isShortJson(value, pieceChars)) yield textOf(value);
  else if (typeof value === "string") yield* partsOfText(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfObject(value as object);
}

function* partsOfList(list: readonly unknown[]): Generator<string, void, void> {
  let before = "[";
  for (const item of list) {
    yield before;
    yield* partsOf(readable(item));
    before = ",";
  }
  yield "]";
}

function* partsOfObject(object: object): Generator<string, void, void> {
  let before = "{";
  for (const [key, given] of Object.entries(object)) {
    const value = readable(given);
    if (["undefined", "function", "symbol"].includes(typeof value)) continue;
    yield `${before}${JSON.stringify(key)}:`;
    yield* partsOf(value);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

/** Splits a text; a pair of surrogates stays together, because each alone would be written as an escape. */
function* partsOfText(text: string): Generator<string, void, void> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    const end = from + pieceChars;
    const isPair = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(end - 1, end + 1));
    const to = isPair ? end - 1 : end;
    yield JSON.stringify(text.slice(from, to)).slice(1, -1);
    from = to;
  }
  yield '"';
}
