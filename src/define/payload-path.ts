/**
 * Fields of a payload by dotted path (`order.items.0.price`; `*` stands for every item of a list). Pure: a change gives
 * a new payload.
 */
import type { Json } from "../contract/json.ts";

type Holder = Readonly<Record<string, Json>>;

const isHolder = (value: Json | undefined): value is Holder =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isItem = (key: string, index: number): boolean => key === "*" || key === String(index);

/** Returns the values at a path; undefined stands for each missing one. */
export function valuesAt(payload: Json, path: string): readonly (Json | undefined)[] {
  const start: readonly (Json | undefined)[] = [payload];
  return path.split(".").reduce((found, key) => found.flatMap((value) => stepInto(value, key)), start);
}

function stepInto(value: Json | undefined, key: string): readonly (Json | undefined)[] {
  if (Array.isArray(value)) return key === "*" ? value : [value[Number(key)]];
  return [isHolder(value) && Object.hasOwn(value, key) ? value[key] : undefined];
}

/** Returns the payload with a field set. @throws Error if the parent of the field is missing. */
export const withField = (payload: Json, path: string, value: Json): Json =>
  put(payload, path.split("."), { value, path });

interface Put {
  readonly value: Json;
  readonly path: string;
}

function put(at: Json, [key, ...rest]: readonly string[], what: Put): Json {
  if (key === undefined) return what.value;
  if (Array.isArray(at) && at.some((_item, i) => isItem(key, i)))
    return at.map((item: Json, i) => (isItem(key, i) ? put(item, rest, what) : item));
  if (!isHolder(at) || (rest.length > 0 && !Object.hasOwn(at, key)))
    throw new Error(`the payload has no place for ${what.path}`);
  return { ...at, [key]: put(at[key] ?? null, rest, what) };
}

/** Returns the payload without a field; unchanged if there is none. */
export const withoutField = (payload: Json, path: string): Json => drop(payload, path.split("."));

function drop(at: Json, [key = "", ...rest]: readonly string[]): Json {
  const isLast = rest.length === 0;
  if (Array.isArray(at))
    return at.flatMap((item: Json, i) => (isItem(key, i) ? (isLast ? [] : [drop(item, rest)]) : [item]));
  if (!isHolder(at) || !Object.hasOwn(at, key)) return at;
  const { [key]: gone, ...others } = at;
  return isLast ? others : { ...at, [key]: drop(gone as Json, rest) };
}
