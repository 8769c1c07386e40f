/** What an inspector shows by default, at every place of every event that a golden ledger holds. */
import { describe, expect, it } from "vitest";
import { isPlainObject, type JsonObject } from "../../src/contract/json.ts";
import type { LedgerEvent } from "../../src/index.ts";
import { redactEvent } from "../../src/observers/inspect/redact.ts";
import { goldens } from "./story.ts";

const secret = "s3cret-Zebra";
const events = goldens.flatMap(([, all]) => all);

/** All keys that any event has, each with the secret: whatever is looked into shows it. */
const bait: JsonObject = Object.fromEntries(
  [...new Set(events.flatMap(({ payload }) => [...keysIn(payload)]))].map((key) => [key, secret]),
);

function* keysIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* keysIn(item);
  else if (isPlainObject(value))
    for (const [key, inner] of Object.entries(value)) {
      yield key;
      yield* keysIn(inner);
    }
}

/** The payload with each of its members in turn in place of what stood there; and the keys that lead to it. */
function* replacing(
  value: unknown,
  by: unknown,
  path: readonly string[] = [],
): Generator<readonly [made: unknown, at: readonly string[]]> {
  if (path.length > 0) yield [by, path];
  if (Array.isArray(value))
    for (const [i, item] of value.entries())
      for (const [made, at] of replacing(item, by, path)) yield [value.with(i, made), at];
  else if (isPlainObject(value))
    for (const [key, inner] of Object.entries(value))
      for (const [made, at] of replacing(inner, by, [...path, key])) yield [{ ...value, [key]: made }, at];
}

/** The places at which what was put there is shown. */
function shownAt(by: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  for (const event of events)
    for (const [payload, path] of replacing(event.payload, by)) {
      const shown = JSON.stringify(redactEvent({ ...event, payload } as LedgerEvent));
      if (shown.includes(secret)) found.add(path.join("."));
    }
  return found;
}

describe("what is shown by default", () => {
  it("comes only from records that say who, what and where, and never from an operator, model or person", () => {
    const looked = [...shownAt(bait)];
    expect([...new Set(looked.map((path) => path.split(".").at(-1)))].sort()).toEqual([
      ...["actor", "gate", "intent", "outcome", "plan", "principal", "requester", "steps", "target"],
    ]);
    expect(
      looked.filter((path) => /\b(params|inputs|payload|result|content|editable|context|error)\b/.test(path)),
    ).toEqual([]);
  });

  it("is no text: nothing that is longer than a name", () => {
    expect([...shownAt(`${secret} ${"x".repeat(200)}`)]).toEqual([]);
  });

  it("is of an error its code, where it is the kernel's own", () => {
    const failing = events.filter(({ payload }) => isPlainObject(payload["error"]));
    expect(failing.length).toBeGreaterThan(0);
    for (const event of failing) {
      const error = { ...(event.payload["error"] as JsonObject), message: secret, detail: bait, code: secret };
      expect(JSON.stringify(redactEvent({ ...event, payload: { ...event.payload, error } }))).not.toContain(secret);
    }
  });
});
