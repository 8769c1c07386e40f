/**
 * The differences between two plain values, and a value with them: a list of states is small as its first state and
 * what each event changes.
 */
import { isPlainObject, type Json } from "../contract/json.ts";
import type { Change } from "../contract/recording.ts";

/** Returns what makes `after` of `before`, in an order in which it can be applied. */
export function changesBetween(before: Json, after: Json, path: readonly (string | number)[] = []): readonly Change[] {
  if (before === after) return [];
  if (isPlainObject(before) && isPlainObject(after)) {
    const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
    return [
      ...gone.map((key): Change => [[...path, key]]),
      ...Object.entries(after).flatMap(([key, value]): readonly Change[] =>
        Object.hasOwn(before, key)
          ? changesBetween(before[key] as Json, value as Json, [...path, key])
          : [[[...path, key], value as Json]],
      ),
    ];
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length <= after.length)
    return after.flatMap((value: Json, at): readonly Change[] =>
      at < before.length ? changesBetween(before[at] as Json, value, [...path, at]) : [[[...path, at], value]],
    );
  return [[path, after]];
}

/** Returns a value with these changes. The value itself stays as it is; parts that do not change are shared. */
export const withChanges = (value: Json, changes: readonly Change[]): Json => changes.reduce(withChange, value);

function withChange(value: Json, [path, set]: Change): Json {
  const [key, ...rest] = path;
  if (key === undefined) return set as Json;
  if (Array.isArray(value)) {
    const copy: Json[] = [...value];
    copy[Number(key)] = rest.length === 0 ? (set as Json) : withChange(copy[Number(key)] ?? null, [rest, set]);
    return copy;
  }
  const { [key]: old = null, ...others } = value as Readonly<Record<string, Json>>;
  if (rest.length > 0) return { ...(value as object), [key]: withChange(old, [rest, set]) };
  return set === undefined ? others : { ...(value as object), [key]: set };
}
