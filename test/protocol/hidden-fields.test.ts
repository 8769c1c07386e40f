/** The fields of a payload that a gate's preview does not say. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import { listHiddenFields } from "../../src/protocol/hidden-fields.ts";

const told = (payload: Json, preview: string): readonly string[] =>
  listHiddenFields(payload, preview).map(({ path, value }) => `${path} ${JSON.stringify(value)}`);

const letter = `Dear Ann,\n${"as you know. ".repeat(30)}\nYours`;

describe("what a preview leaves out", () => {
  it("[GAT-05] for a file: its folder and its path, and not the content that is previewed", () => {
    const payload = { folder: "/etc", path: "passwd", content: letter };
    expect(told(payload, letter)).toEqual(['folder "/etc"', 'path "passwd"']);
  });

  it("[GAT-05] each value by its path: nested, in lists, flags, numbers, nothing, and empty ones", () => {
    const payload = { to: [{ address: "eve" }], cc: [], dry_run: false, "a.b": null, "": 1, text: "" };
    expect(told(payload, "a letter")).toEqual([
      'to[0].address "eve"',
      "cc []",
      "dry_run false",
      '["a.b"] null',
      '[""] 1',
      'text ""',
    ]);
    expect(told("all of it", "something else")).toEqual(['payload "all of it"']);
  });

  it("[GAT-05] a value is not said by a text that mentions it", () => {
    const payload = { folder: "/root/.ssh", text: `${letter}\n/root/.ssh\n` };
    expect(told(payload, payload.text)).toEqual(['folder "/root/.ssh"']);
  });

  it("[GAT-05] a text that the preview cuts short is left out, and so is the second of two that are the same", () => {
    expect(told({ content: letter }, letter.slice(0, -1))).toEqual([`content ${JSON.stringify(letter)}`]);
    expect(told({ a: letter, b: letter }, letter)).toEqual([`b ${JSON.stringify(letter)}`]);
  });

  it("[GAT-05] a preview that only begins like the payload says nothing of it", () => {
    expect(told(1, "12 cents to Eve")).toEqual(["payload 1"]);
    expect(told("a", '"a" is sent to Eve, and b too')).toEqual(['payload "a"']);
    expect(told({ to: "Eve" }, `${JSON.stringify({ to: "Eve" }, null, 2)}\nby the next mail`)).toEqual([]);
  });

  it("[GAT-05] a payload that is its own preview leaves nothing out; any other says each of its short values", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const payload = JSON.parse(JSON.stringify(value)) as Json;
        expect(told(payload, JSON.stringify(payload, null, 2))).toEqual([]);
        const read = listHiddenFields({ of: payload }, "nothing of it");
        expect(read.length).toBeGreaterThan(0);
        expect(new Set(read.map(({ path }) => path)).size).toBe(read.length);
      }),
    );
  });
});
